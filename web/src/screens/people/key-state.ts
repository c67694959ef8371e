import type { ApiKey, GivenKey, Role } from "@tidings/client";

export type KeyState = "active" | "expired" | "revoked";

/** Whether a key opens anything. */
export function keyState(key: Pick<ApiKey, "revokedAt" | "expiresAt">, now: number): KeyState {
  if (key.revokedAt) return "revoked";
  return key.expiresAt && Date.parse(key.expiresAt) <= now ? "expired" : "active";
}

export interface KeyDraft {
  name: string;
  role: Role;
  workspace: string;
  /** As the browser's field has it: the reader's own clock without a zone. */
  expires: string;
  /** One on each line. */
  workflows: string;
  origins: string;
}

/** The request that makes the key; what limits a publishable one is left out of others. */
export function givenKey(draft: KeyDraft): GivenKey {
  const given: GivenKey = { name: draft.name.trim(), role: draft.role, workspace: draft.workspace };
  if (draft.expires) given.expiresAt = new Date(draft.expires).toISOString();
  if (draft.role !== "publishable") return given;
  return { ...given, workflows: linesOf(draft.workflows), origins: linesOf(draft.origins) };
}

/** The lines with anything on them. */
export function linesOf(typed: string): string[] {
  return typed.split("\n").map((line) => line.trim()).filter(Boolean);
}
