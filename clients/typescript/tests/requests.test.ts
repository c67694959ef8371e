import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";

import {
  ApiError,
  Conflict,
  Invalid,
  NotFound,
  ServerUnreachable,
  TooManyRequests,
  Unauthorized,
  Unavailable,
} from "../src/index.js";
import { cut, EXECUTION, execution, problem, reply, type Script, script, silence } from "./server.js";

let server: Script | undefined;
const answers = async (...replies: Parameters<typeof script>) => (server = await script(...replies));
afterEach(() => server?.close());

describe("a request", () => {
  it("has the key, the path with its places filled, and the query without what is not given", async () => {
    const { client, asked } = await answers(reply(200, { data: [], nextCursor: null }));

    await client().contacts.logs("crm/1815 ä", { limit: 5, cursor: null, createdAfter: "2026-03-02" }).all();

    assert.equal(asked[0]?.url, "/v1/contacts/crm%2F1815%20%C3%A4/logs?limit=5&createdAfter=2026-03-02");
    assert.equal(asked[0]?.headers.authorization, "Bearer tid_key");
    assert.equal(asked[0]?.headers["content-type"], undefined);
  });

  it("cannot be led elsewhere by an id", async () => {
    const { client, asked } = await answers(reply(200, {}));

    for (const id of ["", ".", ".."]) await assert.rejects(client().runs.get(id), TypeError);

    assert.equal(asked.length, 0);
  });

  it("has the headers of a session, asked for anew with each try, and the caller's own", async () => {
    const { client, asked } = await answers(problem(503, "server_busy"), reply(200, execution("paused")));
    let asks = 0;
    const headers = async () => ({ "X-Tidings-CSRF": `token-${(asks += 1)}`, "X-Tidings-Workspace": "main" });

    await client({ key: undefined, headers }).executions.pause(EXECUTION, { headers: { "X-Request-Id": "mine" } });

    assert.deepEqual(
      asked.map(({ headers: one }) => [one.authorization, one["x-tidings-csrf"], one["x-request-id"]]),
      [[undefined, "token-1", "mine"], [undefined, "token-2", "mine"]],
    );
  });

  it("is not sent, and not tried again, when the hook for headers fails", async () => {
    const { client, asked } = await answers(reply(200, {}));
    const broken = client({ headers: () => Promise.reject(new Error("signed out")) });

    await assert.rejects(broken.workflows.list().all(), /signed out/);

    assert.equal(asked.length, 0);
  });

  it("does not follow a redirect with its key", async () => {
    const { client, asked } = await answers(reply(302, undefined, { location: "/elsewhere" }));

    await assert.rejects(client().runs.get(EXECUTION), (error: ApiError) => error.status === 302);

    assert.equal(asked.length, 1);
  });

  it("asks a given fetch with the cookies' setting", async () => {
    const seen: (RequestInit | undefined)[] = [];
    const { client } = await answers(reply(200, {}));
    const own: typeof fetch = async (_, init) => (seen.push(init), Response.json({ status: "healthy" }));

    const health = await client({ fetch: own, credentials: "same-origin" }).health.get();

    assert.deepEqual([health.status, seen[0]?.credentials, seen[0]?.redirect], ["healthy", "same-origin", "manual"]);
  });
});

describe("an answer", () => {
  it("that is no success is an error of its kind with everything that the API says", async () => {
    const kinds = [
      [400, Invalid], [401, Unauthorized], [403, Unauthorized], [404, NotFound], [409, Conflict],
      [413, Invalid], [422, Invalid], [429, TooManyRequests], [500, ApiError], [503, Unavailable],
    ] as const;
    for (const [status, kind] of kinds) {
      const { client, close } = await script(problem(status, "some_code", { "retry-after": "0" }));
      const error = await client({ retries: 1 }).runs.get(EXECUTION).then(() => assert.fail(), (one: ApiError) => one);
      await close();

      assert.equal(error.constructor, kind);
      assert.deepEqual(
        [error.status, error.code, error.detail, error.requestId, error.retryAfterMs],
        [status, "some_code", "some_code it is", "r-1", 0],
      );
      assert.deepEqual(error.errors, [{ place: "data.name", message: "is missing" }]);
    }
  });

  it("of a proxy is an error with its status and its words", async () => {
    const page = "<h1>Bad gateway</h1>";
    const proxy = (response: Parameters<ReturnType<typeof reply>>[0]) => response.writeHead(502).end(page);
    const { client, asked } = await answers(proxy);

    await assert.rejects(client().runs.get(EXECUTION), { name: "Unavailable", code: "error", detail: page });

    assert.equal(asked.length, 4);
  });

  it("that is no JSON is refused", async () => {
    const { client } = await answers((response) => response.writeHead(200, { "content-type": "application/json" }).end("{"));

    await assert.rejects(client().runs.get(EXECUTION), { code: "answer_unreadable" });
  });

  it("without a body is nothing, and one that is no JSON stays a Response", async () => {
    const csv = (response: Parameters<ReturnType<typeof reply>>[0]) =>
      response.writeHead(200, { "content-type": "text/csv" }).end("id\n1\n");
    const { client } = await answers((response) => response.writeHead(204).end(), csv);

    assert.equal(await client().workflows.delete(EXECUTION), undefined);
    assert.equal(await (await client().runs.export(EXECUTION)).text(), "id\n1\n");
  });
});

describe("a second try", () => {
  it("of a trigger has the key of the first, which is made if none was given", async () => {
    const started = execution("enqueued", { duplicate: true, idempotencyKey: "…" });
    const { client, asked } = await answers(cut, problem(502, "error"), reply(200, started));

    const answer = await client().trigger("welcome", { name: "Ada" });

    assert.equal(asked.length, 3);
    assert.equal(new Set(asked.map(({ body }) => body.idempotencyKey)).size, 1);
    assert.match(asked[0]?.body.idempotencyKey, /^[0-9a-f]{8}-/);
    assert.equal(answer.duplicate, false, "only our own second try was there before");
  });

  it("of a trigger keeps a key that was given, and says that it was used before", async () => {
    const { client, asked } = await answers(reply(200, execution("enqueued", { duplicate: true })));

    const answer = await client().trigger("welcome", {}, { idempotencyKey: "signup-1", contactId: "crm-1" });

    assert.deepEqual(asked[0]?.body, { workflow: "welcome", data: {}, idempotencyKey: "signup-1", contactId: "crm-1" });
    assert.equal(answer.duplicate, true);
  });

  it("of many triggers has the key of each", async () => {
    const { client, asked } = await answers(cut, reply(200, { data: [] }));

    await client().triggers.bulk({ triggers: [{ workflow: "a" }, { workflow: "b", idempotencyKey: "b-1" }] });

    const keys = asked.map(({ body }) => body.triggers.map((one: { idempotencyKey: string }) => one.idempotencyKey));
    assert.deepEqual(keys[0], keys[1]);
    assert.equal(keys[0][1], "b-1");
    assert.match(keys[0][0], /^[0-9a-f-]{36}$/);
  });

  it("is not made of what might happen twice", async () => {
    const { client, asked } = await answers(cut);

    await assert.rejects(client().campaigns.create({ name: "Spring" } as never), ServerUnreachable);
    await assert.rejects(client().executions.retry(EXECUTION), ServerUnreachable);
    await assert.rejects(client().contacts.bulk({ contacts: [{ externalId: "1" }, { email: "a@example.com" }] }), ServerUnreachable);
    await assert.rejects(client().workflows.delete(EXECUTION), ServerUnreachable);

    assert.equal(asked.length, 4);
  });

  it("is made of what names itself, of a dry run, and of what the caller vouches for", async () => {
    const { client, asked } = await answers(cut);

    await assert.rejects(client().contacts.bulk({ contacts: [{ externalId: "1" }] }), ServerUnreachable);
    await assert.rejects(client().deadLetters.replay({ where: {}, dryRun: true }), ServerUnreachable);
    await assert.rejects(client().executions.retry(EXECUTION, { repeatable: true }), ServerUnreachable);

    assert.equal(asked.length, 12);
  });

  it("is made of anything that was refused as too much, or that never left", async () => {
    const { client, asked } = await answers(problem(429, "too_many_requests", { "retry-after": "0" }), reply(200, execution("failed")));
    await client().executions.retry(EXECUTION);
    await server?.close();
    let tries = 0;
    const counting: typeof fetch = (...given) => ((tries += 1), fetch(...given));

    await assert.rejects(client({ fetch: counting }).executions.retry(EXECUTION), ServerUnreachable);

    assert.deepEqual([asked.length, tries], [2, 4]);
  });

  it("waits as long as the server asks", async () => {
    const { client, asked } = await answers(problem(429, "too_many_requests", { "retry-after": "1" }), reply(200, execution("failed")));
    const begun = performance.now();

    await client().executions.get(EXECUTION);

    assert.equal(asked.length, 2);
    assert.ok(performance.now() - begun >= 990);
  });

  it("is not waited for beyond the time of the whole call", async () => {
    const { client, asked } = await answers(problem(503, "server_busy", { "retry-after": "30" }));

    await assert.rejects(client({ timeoutMs: 100 }).executions.get(EXECUTION), Unavailable);

    assert.equal(asked.length, 1);
  });

  it("is made after a try without an answer, and all of them end with the call's time", async () => {
    const { client, asked } = await answers(silence);
    const begun = performance.now();

    await assert.rejects(client({ tryTimeoutMs: 50, timeoutMs: 130 }).executions.get(EXECUTION), ServerUnreachable);

    assert.ok(asked.length >= 2);
    assert.ok(performance.now() - begun < 5_000);
  });

  it("is not made for a caller that gave up, who gets their own reason", async () => {
    const { client, asked } = await answers(silence);
    const gone = new Error("the page was left");
    const giving = new AbortController();
    setTimeout(() => giving.abort(gone), 50);

    await assert.rejects(client().executions.get(EXECUTION, { signal: giving.signal }), gone);

    assert.equal(asked.length, 1);
  });
});

describe("a list", () => {
  it("fetches a page when the one before is used up", async () => {
    const pages = [{ data: [1, 2], nextCursor: "a b" }, { data: [3], nextCursor: null }].map((one) => reply(200, one));
    const { client, asked } = await answers(...pages);
    const found: unknown[] = [];

    for await (const one of client().executions.list({ status: "failed" })) {
      found.push(one);
      if (found.length === 2) assert.equal(asked.length, 1);
    }

    assert.deepEqual(found, [1, 2, 3]);
    assert.equal(asked[1]?.url, "/v1/executions?status=failed&cursor=a+b");
  });

  it("gives one page to whoever turns them", async () => {
    const { client, asked } = await answers(reply(200, { data: [1], nextCursor: "next" }));

    const page = await client().runs.list({ limit: 1 }).page("here");

    assert.deepEqual(page, { data: [1], nextCursor: "next" });
    assert.equal(asked[0]?.url, "/v1/runs?limit=1&cursor=here");
  });

  it("that names itself as the next page is refused", async () => {
    const { client } = await answers(reply(200, { data: [1], nextCursor: "same" }));

    await assert.rejects(client().runs.list().all(), /does not end/);
  });
});
