/** Following a stream of server-sent events over fetch, which carries our headers as EventSource does not. */
import { useEffect, useRef, useState } from "react";
import { asProblem } from "./problem";
import { send } from "./request";

export interface StreamEvent {
  event: string;
  data: string;
  id?: string;
}

export type StreamState = "connecting" | "open" | "lost" | "ended";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/** Call `onEvent` for each event of a stream until the component is gone, and connect again when it breaks. */
export function useEvents(path: string | null, onEvent: (event: StreamEvent) => void): StreamState {
  const [state, setState] = useState<StreamState>("connecting");
  const handler = useRef(onEvent);
  useEffect(() => {
    handler.current = onEvent;
  });
  useEffect(() => {
    if (!path) return;
    const stop = new AbortController();
    void follow(path, stop.signal, (event) => handler.current(event), setState);
    return () => stop.abort();
  }, [path]);
  return state;
}

async function follow(path: string, signal: AbortSignal, tell: (event: StreamEvent) => void, say: (state: StreamState) => void): Promise<void> {
  let last: string | undefined;
  let pause = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    say("connecting");
    try {
      const headers = { Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) };
      const response = await send("GET", path, { headers, signal });
      say("open");
      pause = FIRST_PAUSE_MS;
      for await (const event of readEvents(response.body)) {
        last = event.id ?? last;
        tell(event);
      }
      say("ended");
      return;
    } catch (error) {
      const { status } = asProblem(error);
      const isFinal = status >= 400 && status < 500 && status !== 429;
      say(isFinal ? "ended" : "lost");
      if (isFinal) return;
    }
    await new Promise((resume) => setTimeout(resume, pause));
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
}

async function* readEvents(body: ReadableStream<Uint8Array> | null): AsyncGenerator<StreamEvent> {
  if (!body) return;
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let waiting = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (waiting + value).replaceAll("\r\n", "\n").split("\n\n");
    waiting = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = parseEvent(block);
      if (event) yield event;
    }
  }
}

/** One block of a stream; a comment that keeps it open is none. */
export function parseEvent(block: string): StreamEvent | null {
  const data: string[] = [];
  const event: StreamEvent = { event: "message", data: "" };
  for (const line of block.split("\n")) {
    const [, name, value = ""] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name === "data") data.push(value);
    else if (name === "event") event.event = value;
    else if (name === "id") event.id = value;
  }
  return data.length ? { ...event, data: data.join("\n") } : null;
}
