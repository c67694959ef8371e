// Send one request of the operations' table, again where that is safe, and read its answer or throw its error.

import { ApiError, errorOf, ServerUnreachable, unreadable } from "./errors.js";
import { keyed, mayRepeat } from "./keys.js";
import { type Page, Pages } from "./pages.js";
import { limit, mayTryAgain, RETRYING, type Retrying, sleep, waitAfter } from "./patience.js";
import type { Operations } from "./schema.js";
import { eventsOf, linesOf, type Listening, type ServerEvent } from "./sse.js";

export type Operation = keyof Operations & string;
export type Path<Op extends Operation> = Operations[Op]["path"];
export type Query<Op extends Operation> = Operations[Op]["query"];
export type Body<Op extends Operation> = Operations[Op]["body"];
export type Answer<Op extends Operation> = Operations[Op]["answer"];

/** How the server is reached. */
export interface TidingsOptions {
  /** The address of the server, such as `https://tidings.example.com`; a page of the server itself may give `""`. */
  url: string;
  /** An API key. A page with a session in a cookie has none. */
  key?: string | undefined;
  /** More headers for each try, asked for anew: the CSRF token and the workspace of a session, say. */
  headers?: (() => HeadersInit | Promise<HeadersInit>) | undefined;
  /** Whether cookies are sent, as `fetch` takes it; a page of the server itself gives `"same-origin"`. */
  credentials?: RequestCredentials | undefined;
  /** What is called instead of the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /** The most that a call may take with all its tries and waits; a minute if nothing is said. */
  timeoutMs?: number | undefined;
  /** The most that one try may take; half a minute if nothing is said. */
  tryTimeoutMs?: number | undefined;
  /** How often a request is sent at most, or more about the waits between. */
  retries?: number | Partial<Retrying> | undefined;
}

/** What one call may say for itself. */
export interface Options {
  signal?: AbortSignal | undefined;
  headers?: HeadersInit | undefined;
  timeoutMs?: number | undefined;
  /** Whether a second try does no harm, where the client cannot know it. */
  repeatable?: boolean | undefined;
  /** What is called instead of the client's `fetch`. */
  fetch?: typeof fetch | undefined;
}

type Needed<Name extends string, Value> = [Value] extends [undefined]
  ? { [name in Name]?: undefined }
  : object extends Value
    ? { [name in Name]?: Value }
    : { [name in Name]: Value };

/** What an operation is given: its path, query and body, as far as it has them. */
export type Given<Op extends Operation> = Options &
  Needed<"path", Path<Op>> &
  Needed<"query", Query<Op>> &
  Needed<"body", Body<Op>>;
type Arguments<Op extends Operation> = object extends Given<Op> ? [given?: Given<Op>] : [given: Given<Op>];

/** A call's own arguments without their types: what the table promises is checked where it is called. */
interface Loose extends Options {
  path?: object | undefined;
  query?: object | undefined;
  body?: unknown;
  /** Makes a body that is not JSON, anew for each try. */
  content?: (() => BodyInit) | undefined;
}

type Bytes = ReadableStream<Uint8Array>;
type Reader<Result> = (response: Response) => Promise<Result>;

const TIMEOUT_MS = 60_000;
const TRY_TIMEOUT_MS = 30_000;
/** The server says something every 15 seconds; a stream without anything for three times as long is dead. */
const SILENCE_MS = 45_000;

/** A server, and how it is asked. */
export class Http {
  readonly url: string;
  readonly retrying: Retrying;

  constructor(private readonly options: TidingsOptions) {
    this.url = options.url.replace(/\/+$/, "");
    const { retries } = options;
    this.retrying = { ...RETRYING, ...(typeof retries === "number" ? { attempts: retries } : retries) };
  }

  /** Send a request and return its answer, read as JSON. */
  async call<Op extends Operation>(operation: Op, ...[given]: Arguments<Op>): Promise<Answer<Op>> {
    return this.send(operation, given ?? {}, async (response) => {
      if (response.status === 204) return undefined as Answer<Op>; // it may name a type all the same
      if (!isJson(response)) return response as Answer<Op>;
      return (await readJson(response)) as Answer<Op>;
    });
  }

  /** Return a list whose pages are fetched as they are needed. */
  pages<Item>(operation: Operation, given: Loose = {}): Pages<Item> {
    return new Pages((cursor) => {
      const query = cursor === undefined ? given.query : { ...given.query, cursor };
      return this.send(operation, { ...given, query }, readJson) as Promise<Page<Item>>;
    });
  }

  /** Yield a stream's events; come back with `Last-Event-ID` when it breaks off, until the server says that was all. */
  async *events(
    operation: Operation,
    given: Loose = {},
    { firstMs, attempts = this.retrying.attempts }: { firstMs?: number; attempts?: number } = {},
  ): AsyncGenerator<ServerEvent, void, undefined> {
    const { signal } = given;
    let seen: string | null = null;
    let failures = 0;
    for (;;) {
      try {
        const body: Bytes | null = await this.open(operation, withEvents(given, seen));
        if (body === null) return;
        for await (const event of eventsOf(this.heard(body, { silenceMs: SILENCE_MS, firstMs, signal }))) {
          [seen, failures] = [event.id ?? seen, 0];
          yield event;
        }
      } catch (error) {
        failures += 1;
        if (failures >= attempts || !mayTryAgain(error, true)) throw error;
      }
      await sleep(waitAfter(this.retrying, Math.max(failures, 1)), signal);
    }
  }

  /** Yield the lines of an answer that goes on. */
  async *lines(operation: Operation, given: Loose): AsyncGenerator<string, void, undefined> {
    const body = await this.open(operation, given);
    if (body) yield* this.heard(body, { silenceMs: SILENCE_MS, signal: given.signal });
  }

  /** Yield the lines of a body; one that breaks off is an error, not an end. */
  private async *heard(body: Bytes, listening: Listening): AsyncGenerator<string, void, undefined> {
    const lines = linesOf(body, listening);
    try {
      for (;;) {
        const line = await lines.next().catch((error: unknown) => {
          throw this.named(error, listening.signal, 1);
        });
        if (line.done) return;
        yield line.value;
      }
    } finally {
      await lines.return();
    }
  }

  /** Open an answer that goes on, once, and return its body; nothing when the server has nothing more to say. */
  private open(operation: Operation, given: Loose): Promise<Bytes | null> {
    const read = async (response: Response) => (response.status === 204 ? null : response.body);
    return this.attempt(operation, given, given.signal, 1, read);
  }

  /** Send a request until it succeeds or may not be repeated; `read` takes the answer within the limit of the try. */
  async send<Result>(operation: Operation, given: Loose, read: Reader<Result>): Promise<Result> {
    const wanted = { ...given, body: keyed(operation, given.body) };
    const repeatable = given.repeatable ?? mayRepeat(operation, wanted.body);
    const total = limit(given.timeoutMs ?? this.options.timeoutMs ?? TIMEOUT_MS, given.signal);
    try {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await this.attempt(operation, wanted, total.signal, attempt, read);
        } catch (error) {
          given.signal?.throwIfAborted();
          const isLast = attempt >= this.retrying.attempts || total.signal.aborted;
          if (isLast || !mayTryAgain(error, repeatable)) throw error;
          await this.pause(error, attempt, total.signal);
          given.signal?.throwIfAborted();
        }
      }
    } finally {
      total.end();
    }
  }

  private async attempt<Result>(
    operation: Operation,
    given: Loose,
    signal: AbortSignal | undefined,
    attempt: number,
    read: Reader<Result>,
  ): Promise<Result> {
    const target = this.url + addressOf(operation, given);
    const held = limit(given.timeoutMs ?? this.options.tryTimeoutMs ?? TRY_TIMEOUT_MS, signal);
    try {
      const request = await this.request(operation, given, held.signal);
      const ask = given.fetch ?? this.options.fetch ?? fetch;
      return await answered(ask(target, request), read).catch((error: unknown) => {
        throw this.named(error, given.signal, attempt);
      });
    } finally {
      held.end();
    }
  }

  /** Wait before the next try; when the time of the whole call ends first, what went wrong last is the error. */
  private async pause(failure: unknown, attempt: number, signal: AbortSignal): Promise<void> {
    const asked = failure instanceof ApiError ? failure.retryAfterMs : null;
    await sleep(waitAfter(this.retrying, attempt, asked), signal).catch(() => {
      throw failure;
    });
  }

  private async request(operation: Operation, given: Loose, signal: AbortSignal): Promise<RequestInit> {
    const method = operation.slice(0, operation.indexOf(" "));
    const headers = await this.headers(given);
    // Redirects are not followed: the key goes to the server it was given for, and to no other.
    const request: RequestInit = { method, headers, signal, redirect: "manual", ...bodyOf(given) };
    return this.options.credentials ? { ...request, credentials: this.options.credentials } : request;
  }

  private async headers(given: Loose): Promise<Headers> {
    const headers = new Headers({ accept: "application/json" });
    if (this.options.key) headers.set("authorization", `Bearer ${this.options.key}`);
    if (given.body !== undefined) headers.set("content-type", "application/json");
    const more = [await this.options.headers?.(), given.headers];
    for (const each of more) new Headers(each).forEach((value, name) => headers.set(name, value));
    return headers;
  }

  /** Return the error as callers know it; a caller that gave up gets its own reason. */
  private named(error: unknown, signal: AbortSignal | undefined, attempts: number): unknown {
    if (signal?.aborted) return signal.reason;
    if (error instanceof ApiError) return error;
    const tries = attempts === 1 ? "once" : `${attempts} times`;
    const reason = error instanceof Error ? error.message : String(error);
    return new ServerUnreachable(`no answer from ${this.url || "the server"}, tried ${tries}: ${reason}`, { cause: error });
  }
}

/** The base of every resource. */
export abstract class Resource {
  constructor(protected readonly http: Http) {}
}

function withEvents(given: Loose, seen: string | null): Loose {
  const headers = new Headers(given.headers);
  headers.set("accept", "text/event-stream");
  if (seen !== null) headers.set("last-event-id", seen);
  return { ...given, headers };
}

/** Return a path with its places filled; a value, whatever it holds, is one segment and cannot lead elsewhere. */
function filled(path: string, values: object = {}): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String((values as Record<string, unknown>)[name] ?? "");
    if (value === "" || value === "." || value === "..") throw new TypeError(`${name} is ${JSON.stringify(value)}: give an id`);
    return encodeURIComponent(value);
  });
}

function search(query: object = {}): string {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(query) as [string, unknown][]) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== null) found.append(name, each instanceof Date ? each.toISOString() : String(each));
    }
  }
  const text = found.toString();
  return text && `?${text}`;
}

function addressOf(operation: Operation, given: Loose): string {
  return filled(operation.slice(operation.indexOf(" ") + 1), given.path) + search(given.query);
}

async function answered<Result>(asked: Promise<Response>, read: Reader<Result>): Promise<Result> {
  const response = await asked;
  if (!response.ok) throw await errorOf(response);
  return read(response);
}

function bodyOf(given: Loose): RequestInit & { duplex?: "half" } {
  if (given.content) {
    const body = given.content();
    return body instanceof ReadableStream ? { body, duplex: "half" } : { body };
  }
  return given.body === undefined ? {} : { body: JSON.stringify(given.body) };
}

function isJson(response: Response): boolean {
  return /[/+]json\b/.test(response.headers.get("content-type") ?? "");
}

async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    throw unreadable(response, text.slice(0, 200));
  }
}
