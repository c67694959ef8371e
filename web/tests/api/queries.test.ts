import { afterEach, expect, it } from "vitest";
import { caller } from "../../src/api/client";
import { keyOf } from "../../src/api/queries";

afterEach(() => (caller.workspace = null));

it("keeps answers by workspace and by the parts of their address", () => {
  caller.workspace = "main";

  const key = keyOf("GET /v1/runs/{id}/items", { path: { id: "7" }, query: { status: "failed" } });

  expect(key).toEqual(["main", "v1", "runs", "7", "items", { status: "failed" }]);
});
