import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";

import { ServerUnreachable, workflowFunctions } from "../src/index.js";
import { cut, reply, type Script, script } from "./server.js";

const CSV = "externalId,Mail\n1,ada@example.com\n";
const IMPORTED = { lines: 1, created: 1, rejectedLines: [] };

let server: Script | undefined;
const answers = async (...replies: Parameters<typeof script>) => (server = await script(...replies));
afterEach(() => server?.close());

describe("a file of contacts", () => {
  it("is sent again as a whole when the connection breaks, with its columns", async () => {
    const { client, asked } = await answers(cut, reply(200, IMPORTED));
    const sent: [number, number | null][] = [];
    const file = new Blob([CSV], { type: "text/csv" });

    const imported = await client().contacts.importFile(file, {
      columns: { Mail: "email" },
      onProgress: (...one) => void sent.push(one),
    });

    assert.equal(imported.created, 1);
    assert.deepEqual(asked.map(({ text }) => text), [CSV, CSV]);
    assert.equal(asked[0]?.url, "/v1/contacts/import?map=Mail%3Demail");
    assert.equal(asked[0]?.headers["content-type"], "text/csv");
    assert.deepEqual(sent.at(-1), [CSV.length, CSV.length]);
  });

  it("is NDJSON by its name or by what is said, and a stream is sent once", async () => {
    const { client, asked } = await answers(reply(200, IMPORTED), reply(200, IMPORTED), cut);

    await client().contacts.importFile(Object.assign(new Blob(["{}"]), { name: "people.jsonl" }));
    await client().contacts.importFile("{}", { format: "ndjson" });
    await assert.rejects(client().contacts.importFile(new Blob([CSV]).stream()), ServerUnreachable);

    const types = asked.map(({ headers }) => headers["content-type"]);
    assert.deepEqual(types, ["application/x-ndjson", "application/x-ndjson", "text/csv"]);
  });
});

describe("a file sent by a page", () => {
  /** As much of XMLHttpRequest as a page's upload uses; it sends everything at once and answers 200. */
  class PageRequest {
    static sent: unknown[] = [];
    upload: { onprogress?: (event: object) => void } = {};
    onload?: () => void;
    onabort?: () => void;
    withCredentials = false;
    status = 200;
    responseText = JSON.stringify(IMPORTED);
    headers: Record<string, string> = {};
    open = (...given: string[]) => void PageRequest.sent.push(given);
    setRequestHeader = (name: string, value: string) => void (this.headers[name] = value);
    getAllResponseHeaders = () => "content-type: application/json\r\nx-request-id: r-1\r\n";
    abort = () => this.onabort?.();
    send = (body: Blob) => {
      PageRequest.sent.push(this.headers["content-type"]);
      this.upload.onprogress?.({ loaded: body.size, total: body.size, lengthComputable: true });
      this.onload?.();
    };
  }

  it("tells how much is sent, and is not sent for a caller that gave up", async () => {
    const { client, url } = await answers(reply(500));
    const seen: unknown[] = [];
    Object.assign(globalThis, { XMLHttpRequest: PageRequest });
    try {
      const onProgress = (...one: unknown[]) => void seen.push(one);
      const imported = await client().contacts.importFile(new Blob([CSV]), { onProgress });
      const gone = AbortSignal.abort(new Error("the page was left"));
      await assert.rejects(client().contacts.importFile(CSV, { onProgress, signal: gone }), /the page was left/);

      assert.equal(imported.created, 1);
      assert.deepEqual(seen, [[CSV.length, CSV.length]]);
      assert.deepEqual(PageRequest.sent.slice(0, 2), [["POST", `${url}/v1/contacts/import`], "text/csv"]);
    } finally {
      Reflect.deleteProperty(globalThis, "XMLHttpRequest");
    }
  });
});

describe("the functions of existing front ends", () => {
  const row = (status: string) => reply(200, { success: true, data: { id: "e-1", status } });

  it("start, look and wait in their own words", async () => {
    const queued = { execution_id: "e-1", workflow_name: "proposal_accepted", status: "queued", total_steps: 1 };
    const { url, asked } = await answers(cut, reply(200, { success: true, data: queued }), row("running"), row("completed"));
    const { triggerWorkflow, waitForWorkflow } = workflowFunctions({ url, key: "k", retries: { baseMs: 1 } });
    const seen: string[] = [];

    const result = await triggerWorkflow("proposal_accepted", { guest_email: "ada@example.com" });
    const onProgress = ({ status }: { status: string }) => void seen.push(status);
    const ended = await waitForWorkflow(result.execution_id, { pollInterval: 1, onProgress });

    const [first, second, look] = asked.map(({ body }) => body);
    assert.deepEqual(first, second);
    assert.match(first.payload.correlation_id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(look, { action: "status", payload: { execution_id: "e-1" } });
    assert.deepEqual([result, ended.status, seen], [queued, "completed", ["running", "completed"]]);
  });

  it("throw the server's words, and say when the time is over", async () => {
    const { url } = await answers(reply(400, { success: false, error: "Workflow not found: x" }), row("running"));
    const { triggerWorkflow, waitForWorkflow } = workflowFunctions({ url, key: "k" });

    await assert.rejects(triggerWorkflow("x", {}, "once"), /Workflow not found: x/);
    await assert.rejects(waitForWorkflow("e-1", { timeout: 20, pollInterval: 5 }), /^Error: Workflow e-1 timed out after 20ms$/);
  });
});
