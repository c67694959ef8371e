// The client against a real server with a real worker: TIDINGS_URL and TIDINGS_KEY say where, and with which key.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { Conflict, Invalid, NotFound, Tidings, Unauthorized, workflowFunctions } from "../../src/index.js";

const url = process.env["TIDINGS_URL"] ?? assert.fail("TIDINGS_URL is not set: run `make test-typescript`");
const key = process.env["TIDINGS_KEY"] ?? assert.fail("TIDINGS_KEY is not set");
const client = new Tidings({ url, key });
const WELCOME = {
  entryNodeId: "hello",
  nodes: [{ id: "hello", type: "email", to: "{{ email }}", subject: "Hi", body: "Welcome, {{ name }}" }],
  edges: [],
};
const LONG = {
  entryNodeId: "wait",
  nodes: [{ id: "wait", type: "delay", duration: "P30D" }, { ...WELCOME.nodes[0] }],
  edges: [{ from: "wait", to: "hello" }],
};
const ADA = { email: "ada@example.com", name: "Ada" };

before(async () => {
  await client.workflows.apply("welcome", WELCOME);
  await client.workflows.apply("long", LONG);
});

describe("a workflow", () => {
  it("is applied once however often, started once for one key, and followed to its end", async () => {
    const again = await client.workflows.apply("welcome", WELCOME);
    const seen: string[] = [];

    const started = await client.trigger("welcome", ADA, { idempotencyKey: "signup-1" });
    const repeated = await client.trigger(again.id, ADA, { idempotencyKey: "signup-1" });
    const ended = await client.wait(started.id, { onProgress: ({ status }) => void seen.push(status) });

    assert.deepEqual([again.version, started.duplicate, repeated.duplicate, repeated.id], [1, false, true, started.id]);
    assert.deepEqual([ended.status, seen.at(-1)], ["completed", "completed"]);
    assert.equal((await client.executions.log(started.id))[0]?.node, "hello");
  });

  it("that goes on for a month is followed until it is cancelled, and not retried then", async () => {
    const { id } = await client.trigger("long", ADA);
    const states: string[] = [];

    for await (const { status } of client.executions.follow(id)) {
      if (states.at(-1) !== status) states.push(status);
      if (states.length === 1) await client.executions.cancel(id);
    }

    assert.equal(states.at(-1), "cancelled");
    await assert.rejects(client.executions.retry(id), Conflict);
  });

  it("is refused with every problem at its place", async () => {
    const broken = client.workflows.create({ name: "broken", ...WELCOME, entryNodeId: "nobody" });

    const error = await broken.then(() => assert.fail(), (one: Invalid) => one);

    assert.ok(error instanceof Invalid);
    assert.equal(error.code, "definition_invalid");
    assert.equal(error.errors[0]?.place, "entryNodeId");
    assert.ok(error.requestId);
  });
});

describe("a list", () => {
  it("is read over its pages", async () => {
    await client.workflows.apply("many", LONG);
    const { data } = await client.call("POST /v1/triggers/bulk", {
      body: { triggers: Array.from({ length: 7 }, () => ({ workflow: "many", data: ADA })) },
    });

    const found = await client.executions.list({ workflow: "many", limit: 3 }).all();

    assert.deepEqual(new Set(found.map(({ id }) => id)), new Set(data.map(({ id }) => id)));
  });
});

describe("contacts", () => {
  it("come from a file with its columns, with progress and with what was refused", async () => {
    const lines = Array.from({ length: 500 }, (_, at) => `crm-${at},p${at}@example.com`);
    const file = new Blob([["externalId,Mail", ...lines, "crm-x,nobody"].join("\n")], { type: "text/csv" });
    let sent = 0;

    const imported = await client.contacts.importFile(file, { columns: { Mail: "email" }, onProgress: (now) => void (sent = now) });

    assert.deepEqual([imported.created, imported.rejected, sent], [500, 1, file.size]);
    assert.equal((await client.contacts.get("crm-17")).email, "p17@example.com");
    await assert.rejects(client.contacts.get("crm-nobody"), NotFound);
  });
});

describe("a campaign", () => {
  it("is deployed once, waited for and traced", async () => {
    const campaign = await client.campaigns.create({
      name: "Spring",
      channel: "email",
      content: { subject: "Spring", body: "It is here, {{ contact.email }}" },
      audience: { contactIds: ["crm-1", "crm-2"] },
    });

    const run = await client.campaigns.deploy(campaign.id);
    const ended = await client.runs.wait(run.id, { pollMs: 50, timeoutMs: 120_000 });
    const lines = [];
    for await (const line of client.runs.trace(run.id)) lines.push(line);

    assert.deepEqual([ended.status, ended.counts.sent, lines.length], ["completed", 2, 2]);
    assert.match(await (await client.runs.export(run.id)).text(), /^\w+,/);
  });
});

describe("a key", () => {
  it("that is wrong is refused", async () => {
    await assert.rejects(new Tidings({ url, key: "tid_wrong" }).workflows.list().all(), Unauthorized);
  });

  it("of a web page waits by looking, since it may not follow", async () => {
    const made = await client.keys.create({ name: "page", role: "publishable", workflows: ["welcome"] });
    const page = new Tidings({ url, key: made.secret });

    const { id } = await page.trigger("welcome", ADA);
    const ended = await page.wait(id, { pollMs: 50 });

    assert.equal(ended.status, "completed");
  });
});

describe("the functions of existing front ends", () => {
  const { triggerWorkflow, getWorkflowStatus, waitForWorkflow } = workflowFunctions({ url, key });

  it("start a workflow once for one correlation id and wait for its end", async () => {
    const seen: number[] = [];

    const result = await triggerWorkflow("welcome", ADA, "proposal-17");
    const onProgress = ({ current_step }: { current_step: number }) => void seen.push(current_step);
    const ended = await waitForWorkflow(result.execution_id, { pollInterval: 50, onProgress });
    const again = await triggerWorkflow("welcome", ADA, "proposal-17");

    assert.deepEqual([result.status, result.total_steps, result.workflow_name], ["queued", 1, "welcome"]);
    assert.equal(ended.status, "completed");
    assert.deepEqual([again.execution_id, again.message], [result.execution_id, "Workflow already exists (idempotent)"]);
    assert.equal((await getWorkflowStatus(result.execution_id)).context["email"], ADA.email);
    assert.ok(seen.length > 0);
  });

  it("throw the server's words", async () => {
    await assert.rejects(triggerWorkflow("nothing", {}), /Workflow not found: nothing/);
  });
});
