// A real HTTP server on loopback that answers what a test has written down, in that order; the last answer repeats.

import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { Tidings, type TidingsOptions } from "../src/index.js";

export interface Asked {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  text: string;
  body: any;
}

export type Reply = (response: ServerResponse, asked: Asked) => void;

/** Answer with JSON. */
export function reply(status: number, body?: unknown, headers: Record<string, string> = {}): Reply {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(body === undefined ? undefined : JSON.stringify(body));
  };
}

/** Answer as the API does when something is wrong. */
export function problem(status: number, code: string, headers: Record<string, string> = {}): Reply {
  const errors = [{ place: "data.name", message: "is missing" }];
  const body = { status, code, title: "…", detail: `${code} it is`, errors, requestId: "r-1" };
  return reply(status, body, { "content-type": "application/problem+json", ...headers });
}

/** Read the request and end the connection without an answer. */
export const cut: Reply = (response) => void response.socket?.destroy();

/** Never answer. */
export const silence: Reply = () => undefined;

/** Send server-sent events, then end the answer or break it off. */
export function events(text: string, after: "end" | "cut" | "stay" = "end"): Reply {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(text);
    if (after === "end") response.end();
    if (after === "cut") setTimeout(() => response.socket?.destroy(), 20);
  };
}

export interface Script {
  url: string;
  asked: Asked[];
  replies: Reply[];
  client: (options?: Partial<TidingsOptions>) => Tidings;
  close: () => Promise<void>;
}

/** Start a server that gives these answers. */
export async function script(...replies: Reply[]): Promise<Script> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (piece: string) => (text += piece));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const one = { method, url, headers, text, body: read(text) };
      asked.push(one);
      const next = replies.length > 1 ? replies.shift() : replies[0];
      next?.(response, one);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const retries = { attempts: 4, baseMs: 1, capMs: 2 };
  const client = (options = {}) => new Tidings({ url, key: "tid_key", retries, ...options });
  return { url, asked, replies, client, close: () => stop(server) };
}

function read(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

export const EXECUTION = "019aa0c8-5e1a-7b3c-9d41-2f6b8c0d1e2f";

/** An execution, as far as the tests look at it. */
export function execution(status: string, more: object = {}): Record<string, unknown> {
  return { id: EXECUTION, status, workflowName: "welcome", currentStep: 0, totalSteps: 2, ...more };
}

/** An event of its stream. */
export function told(id: string, status: string): string {
  return `id: ${id}\nevent: execution\ndata: ${JSON.stringify(execution(status))}\n\n`;
}
