// Which requests may be sent twice, and the keys that make it so.

import { KEYED, REPEATABLE } from "./schema.js";

type Fields = Readonly<Record<string, unknown>>;

/** Return a random UUID; pages that were loaded over plain HTTP have no `crypto.randomUUID`. */
export function newKey(): string {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const digits = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Return a body with a key of its own where it lacks one: a second try cannot start anything again. */
export function keyed(operation: string, body: unknown): unknown {
  if (!KEYED.has(operation) || !isFields(body) || body["dryRun"] === true) return body;
  const many = body["triggers"];
  if (Array.isArray(many)) return { ...body, triggers: many.map((one) => (isFields(one) ? withKey(one) : one)) };
  return withKey(body);
}

function withKey(body: Fields): Fields {
  return { ...body, idempotencyKey: body["idempotencyKey"] ?? body["idempotency_key"] ?? newKey() };
}

/** Return whether an operation has the same effect however often it arrives. */
export function mayRepeat(operation: string, body: unknown): boolean {
  const method = operation.slice(0, operation.indexOf(" "));
  if (["GET", "PUT", "PATCH"].includes(method) || KEYED.has(operation) || REPEATABLE.has(operation)) return true;
  if (!isFields(body)) return false;
  return body["dryRun"] === true || namesContacts(operation, body);
}

/** Return whether every contact to be stored says which one it is. */
function namesContacts(operation: string, body: Fields): boolean {
  if (operation === "POST /v1/contacts") return hasName(body);
  const many = body["contacts"];
  return operation === "POST /v1/contacts/bulk" && Array.isArray(many) && many.every(hasName);
}

function hasName(contact: unknown): boolean {
  return isFields(contact) && (contact["externalId"] ?? contact["external_id"] ?? null) !== null;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
