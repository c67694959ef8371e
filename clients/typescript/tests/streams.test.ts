import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";

import { eventsOf, linesOf, type ServerEvent } from "../src/sse.js";
import { NotFound, WaitTimeout } from "../src/index.js";
import { events, EXECUTION, execution, problem, reply, type Script, script, told } from "./server.js";

let server: Script | undefined;
const answers = async (...replies: Parameters<typeof script>) => (server = await script(...replies));
afterEach(() => server?.close());

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const one of items) found.push(one);
  return found;
}

/** A stream that comes in pieces of so many bytes. */
function inPieces(text: string, size: number): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
}

const parsed = (text: string, size = 1_000): Promise<ServerEvent[]> =>
  collect(eventsOf(linesOf(inPieces(text, size), { silenceMs: 1_000 })));

describe("server-sent events", () => {
  it("are the same however the bytes come and whatever ends a line", async () => {
    const text = ": hello\n\nid: 1\nevent: execution\ndata: {\"ä\":\ndata:  1}\n\nretry: 10\ndata\n\nid: 2\ndata: last\n\n";
    const wanted = [
      { id: "1", event: "execution", data: '{"ä":\n 1}' },
      { id: "1", event: "message", data: "" },
      { id: "2", event: "message", data: "last" },
    ];

    for (const end of ["\n", "\r\n", "\r"]) {
      for (const size of [1, 2, 3, 7, 1_000]) {
        assert.deepEqual(await parsed(text.replaceAll("\n", end), size), wanted, JSON.stringify({ end, size }));
      }
    }
  });

  it("that are cut off by the end of the stream are none", async () => {
    assert.deepEqual(await parsed("data: whole\n\ndata: half"), [{ id: null, event: "message", data: "whole" }]);
  });

  it("that are silent for too long end with an error, and the stream is closed", async () => {
    let cancelled = false;
    const silent = new ReadableStream<Uint8Array>({ cancel: () => void (cancelled = true) });

    await assert.rejects(collect(linesOf(silent, { silenceMs: 20 })), /within 20 ms/);

    assert.ok(cancelled);
  });
});

describe("following an execution", () => {
  it("comes back with the last event it saw, and ends with the execution", async () => {
    const { client, asked } = await answers(
      events(": here\n\n" + told("a", "enqueued"), "cut"),
      problem(503, "server_busy"),
      events(told("b", "processing") + told("c", "completed"), "stay"),
    );

    const states = await collect(client().executions.follow(EXECUTION));

    assert.deepEqual(states.map(({ status }) => status), ["enqueued", "processing", "completed"]);
    assert.deepEqual(asked.map(({ headers }) => headers["last-event-id"]), [undefined, "a", "a"]);
    assert.equal(asked[0]?.headers.accept, "text/event-stream");
  });

  it("ends when the server has nothing more to say", async () => {
    const { client, asked } = await answers(events(told("a", "paused")), (response) => response.writeHead(204).end());

    assert.equal((await collect(client().executions.events(EXECUTION))).length, 1);
    assert.equal(asked.length, 2);
  });

  it("stops at once when the caller gives up", async () => {
    const { client } = await answers(events(told("a", "enqueued"), "stay"));
    const giving = new AbortController();
    const gone = new Error("the page was left");

    await assert.rejects(async () => {
      for await (const _ of client().executions.follow(EXECUTION, { signal: giving.signal })) giving.abort(gone);
    }, gone);
  });
});

describe("waiting for an execution", () => {
  it("tells of every state and returns the last", async () => {
    const { client, asked } = await answers(events(told("a", "enqueued") + told("b", "completed"), "stay"));
    const seen: string[] = [];

    const ended = await client().wait(EXECUTION, { onProgress: ({ status }) => void seen.push(status) });

    assert.deepEqual([ended.status, seen, asked.length], ["completed", ["enqueued", "completed"], 1]);
  });

  it("looks by itself where it may not follow", async () => {
    const { client, asked } = await answers(
      problem(403, "forbidden"),
      reply(200, execution("processing")),
      reply(200, execution("failed")),
    );

    const ended = await client().wait(EXECUTION, { pollMs: 1 });

    assert.equal(ended.status, "failed");
    assert.deepEqual(asked.map(({ url }) => url.split("/").pop()), ["events", EXECUTION, EXECUTION]);
  });

  it("throws WaitTimeout when the time is over, and the execution goes on", async () => {
    const stream = events(told("a", "processing"), "stay");
    const look = reply(200, execution("processing"));
    const { client } = await answers((...given) => (given[1].url.endsWith("/events") ? stream : look)(...given));

    await assert.rejects(client().wait(EXECUTION, { timeoutMs: 60 }), (error: WaitTimeout) => {
      return error instanceof WaitTimeout && error.status === "processing" && error.id === EXECUTION;
    });
  });

  it("throws what the look throws", async () => {
    const { client } = await answers(problem(404, "not_found"));

    await assert.rejects(client().wait(EXECUTION), NotFound);
  });
});

describe("waiting for a run", () => {
  it("looks again until it has ended", async () => {
    const { client } = await answers(reply(200, execution("running")), reply(200, execution("completed")));

    assert.equal((await client().runs.wait(EXECUTION, { pollMs: 1 })).status, "completed");
  });
});

describe("the trace of a run", () => {
  it("is read line by line", async () => {
    const { client, asked } = await answers((response) => response.writeHead(200).end('{"outboxId":"1"}\n{"outboxId":"2"}\n'));

    const lines = await collect(client().runs.trace(EXECUTION, { inDoubt: true }));

    assert.deepEqual(lines.map(({ outboxId }) => outboxId), ["1", "2"]);
    assert.equal(asked[0]?.headers.accept, "application/x-ndjson");
    assert.match(asked[0]?.url ?? "", /inDoubt=true$/);
  });
});
