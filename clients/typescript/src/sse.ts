// Server-sent events out of a stream of bytes: EventSource cannot send a key, and not every runtime has one.

import { limit } from "./patience.js";

/** One event; `data` is what stood after `data:`, its lines joined. */
export interface ServerEvent {
  id: string | null;
  event: string;
  data: string;
}

const LARGEST_EVENT = 20_000_000;

/** How long a stream may be silent, and who may end it. */
export interface Listening {
  silenceMs: number;
  /** The same for the first piece, which may have to come sooner. */
  firstMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Yield the pieces of a stream; throw after a silence without even a heartbeat, or when the signal aborts. */
async function* piecesOf(
  body: ReadableStream<Uint8Array>,
  { silenceMs, firstMs = silenceMs, signal }: Listening,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
  try {
    for (let patience = firstMs; ; patience = silenceMs) {
      const held = limit(patience, signal);
      try {
        const { done, value } = await Promise.race([reader.read(), aborted(held.signal)]);
        if (done) return;
        yield value;
      } finally {
        held.end();
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}

/** Yield the lines of a stream; a line may end with LF, CRLF or CR. */
export async function* linesOf(
  body: ReadableStream<Uint8Array>,
  listening: Listening,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of piecesOf(body, listening)) {
    rest += decoder.decode(piece, { stream: true });
    // A CR at the end may be half of a CRLF: it waits for what follows.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    if (rest.length > LARGEST_EVENT) throw new Error(`a line has more than ${LARGEST_EVENT} characters`);
    yield* lines;
  }
  if (rest) yield rest.replace(/\r$/, "");
}

/** Yield the events among lines; one that is cut off by the end of the stream is none. */
export async function* eventsOf(lines: AsyncIterable<string>): AsyncGenerator<ServerEvent, void, undefined> {
  let id: string | null = null;
  let event = "message";
  let data: string[] = [];
  for await (const line of lines) {
    const [name, value] = fieldOf(line);
    if (name === "data") data.push(value);
    else if (name === "event") event = value;
    else if (name === "id") id = value;
    else if (line === "") {
      if (data.length > 0) yield { id, event, data: data.join("\n") };
      event = "message";
      data = [];
    }
  }
}

/** Return a line's field and value; a line that begins with the colon is a heartbeat, whose field has no name. */
function fieldOf(line: string): [name: string, value: string] {
  const colon = line.indexOf(":");
  return colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
}
