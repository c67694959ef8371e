import type { User } from "@tidings/client";
import { describe, expect, it } from "vitest";
import { givenKey, type KeyDraft, keyState } from "../../src/screens/people/key-state";
import { isSame, ROLES_OF_KEYS, rolesToGive, stateOf, withRole } from "../../src/screens/people/roles";

const NOW = Date.parse("2026-11-18T12:00:00Z");
const USER: User = {
  id: "0190a000-0000-7000-8000-000000000001",
  tenant: "default",
  email: "ada@example.com",
  name: "Ada",
  workspaces: [],
  hasPassword: false,
  linkExpiresAt: null,
  signedInAt: null,
  disabledAt: null,
  createdAt: "2026-11-18T11:00:00Z",
  createdBy: "user:grace@example.com",
};

describe("the state of a person", () => {
  it("is invited until they come, and no longer than their link", () => {
    expect(stateOf({ ...USER, linkExpiresAt: "2026-11-18T13:00:00Z" }, NOW)).toBe("invited");
    expect(stateOf({ ...USER, linkExpiresAt: "2026-11-18T11:30:00Z" }, NOW)).toBe("expired");
    expect(stateOf({ ...USER, signedInAt: "2026-11-18T11:30:00Z" }, NOW)).toBe("active");
  });

  it("is disabled whatever else is so", () => {
    expect(stateOf({ ...USER, hasPassword: true, disabledAt: "2026-11-18T11:30:00Z" }, NOW)).toBe("disabled");
  });
});

describe("roles", () => {
  it("are kept in their order", () => {
    expect(withRole(["operator"], "reader", true)).toEqual(["reader", "operator"]);
    expect(withRole(["reader", "operator"], "operator", false)).toEqual(["reader"]);
  });

  it("offer an operator's to operators alone", () => {
    expect(rolesToGive(ROLES_OF_KEYS, false)).not.toContain("operator");
    expect(rolesToGive(ROLES_OF_KEYS, true)).toContain("operator");
  });

  it("are the same in any order", () => {
    const one = [
      { workspace: "a", roles: ["reader" as const, "operator" as const] },
      { workspace: "b", roles: ["reader" as const] },
    ];
    const other = [
      { workspace: "b", roles: ["reader" as const] },
      { workspace: "a", roles: ["operator" as const, "reader" as const] },
    ];

    expect(isSame(one, other)).toBe(true);
    expect(isSame(one, one.slice(1))).toBe(false);
  });
});

describe("a key", () => {
  const draft: KeyDraft = { name: " shop ", role: "publishable", workspace: "default", expires: "", workflows: "welcome\n\n quote ", origins: "" };

  it("is revoked for good, and expired from its time on", () => {
    expect(keyState({ revokedAt: null, expiresAt: null }, NOW)).toBe("active");
    expect(keyState({ revokedAt: null, expiresAt: "2026-11-18T12:00:00Z" }, NOW)).toBe("expired");
    expect(keyState({ revokedAt: "2026-11-18T11:00:00Z", expiresAt: "2026-11-18T12:00:00Z" }, NOW)).toBe("revoked");
  });

  it("is limited to workflows only where it is publishable", () => {
    expect(givenKey(draft)).toEqual({ name: "shop", role: "publishable", workspace: "default", workflows: ["welcome", "quote"], origins: [] });
    expect(givenKey({ ...draft, role: "reader" })).toEqual({ name: "shop", role: "reader", workspace: "default" });
  });

  it("expires at the reader's own time", () => {
    expect(givenKey({ ...draft, expires: "2026-12-01T10:00" }).expiresAt).toBe(new Date("2026-12-01T10:00").toISOString());
  });
});
