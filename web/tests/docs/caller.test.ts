import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { inCallersName, readSession } from "../../src/docs/caller";

const SESSION = { user: { email: "ada@example.com" }, workspace: "main", csrfToken: "token-1" };
const signedIn = (status = 200) => vi.fn(() => Promise.resolve(Response.json(SESSION, { status })));
const URL_OF_WORKFLOWS = `${location.origin}/v1/workflows`;

beforeEach(() => vi.stubGlobal("fetch", signedIn()));
afterEach(() => {
  vi.unstubAllGlobals();
  sessionStorage.clear();
  localStorage.clear();
});

test("what changes something goes out with the session's token and the workspace of this tab", async () => {
  localStorage.setItem("tidings.workspace", "main");
  sessionStorage.setItem("tidings.workspace", "second");

  const sent = await inCallersName({ url: URL_OF_WORKFLOWS, method: "POST", headers: { accept: "*/*" } });

  expect(sent.headers).toEqual({ accept: "*/*", "X-Tidings-Workspace": "second", "X-Tidings-CSRF": "token-1" });
});

test("what only reads needs no token, and asks for none", async () => {
  const sent = await inCallersName({ url: URL_OF_WORKFLOWS, method: "get" });

  expect(sent.headers).toEqual({});
  expect(fetch).not.toHaveBeenCalled();
});

test.each(["Authorization", "apikey"])("a key in %s goes alone", async (name) => {
  sessionStorage.setItem("tidings.workspace", "second");
  const request = { url: URL_OF_WORKFLOWS, method: "POST", headers: { [name]: "tid_key" } };

  expect(await inCallersName(request)).toEqual({ url: URL_OF_WORKFLOWS, method: "POST", headers: { [name]: "tid_key" } });
});

test("the description is read as it is", async () => {
  sessionStorage.setItem("tidings.workspace", "second");

  expect(await inCallersName({ url: `${location.origin}/openapi.json` })).toEqual({ url: `${location.origin}/openapi.json` });
});

test("nobody is signed in where there is no session or no server", async () => {
  vi.stubGlobal("fetch", signedIn(401));
  expect(await readSession()).toBeNull();

  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("away")));
  expect(await readSession()).toBeNull();
});
