/** The roles of people, and whom somebody may give which. */
import type { Role, User, WorkspaceRoles } from "@tidings/client";

/** What a person can be, from the least to the most. */
export const ROLES_OF_PEOPLE: readonly Role[] = ["reader", "workflowManager", "triggerOperator", "systemAdmin", "operator"];

/** What a key can be. */
export const ROLES_OF_KEYS: readonly Role[] = [...ROLES_OF_PEOPLE, "workerService", "publishable"];

/** An operator is made by operators alone. */
export function rolesToGive(roles: readonly Role[], isOperator: boolean): readonly Role[] {
  return isOperator ? roles : roles.filter((role) => role !== "operator");
}

export function isOperator(user: User): boolean {
  return user.workspaces.some((one) => one.roles.includes("operator"));
}

export type PersonState = "active" | "invited" | "expired" | "disabled";

/** Somebody who never signed in waits for their link, or for a new one. */
export function stateOf(user: User, now: number): PersonState {
  if (user.disabledAt) return "disabled";
  if (user.signedInAt || user.hasPassword) return "active";
  return user.linkExpiresAt && Date.parse(user.linkExpiresAt) > now ? "invited" : "expired";
}

export function inOrder(held: readonly string[]): Role[] {
  return ROLES_OF_PEOPLE.filter((one) => held.includes(one));
}

/** The roles with one of them added or taken away, in the order of the table above. */
export function withRole(held: readonly string[], role: Role, has: boolean): Role[] {
  return ROLES_OF_PEOPLE.filter((one) => (one === role ? has : held.includes(one)));
}

export function isSame(one: readonly WorkspaceRoles[], other: readonly WorkspaceRoles[]): boolean {
  const written = (some: readonly WorkspaceRoles[]) =>
    JSON.stringify(some.map(({ workspace, roles }) => [workspace, [...roles].sort()]).sort());
  return written(one) === written(other);
}
