/** Lines of the audit log in words. */
import type { AuditLine } from "@tidings/client";
import { text } from "../../text";
import { wordsOf } from "../../ui/status";

export type ActorKind = "person" | "key" | "system";

export interface Actor {
  kind: ActorKind;
  name: string;
}

/** Who did it: `user:ada@example.com` is a person, `key:signup form` a key; anything else is a program's or a terminal's name. */
export function actorOf(actor: string): Actor {
  const [, kind, name] = /^(user|key):(.*)$/s.exec(actor) ?? [];
  if (kind === "user") return { kind: "person", name: name ?? "" };
  if (kind === "key") return { kind: "key", name: name ?? "" };
  return { kind: "system", name: actor };
}

/** What one such thing is called. */
export function kindInWords(kind: string): string {
  return text.audit.one[kind] ?? wordsOf(kind);
}

/** Where a thing is shown: below the section of its kind. */
const PLACES: Readonly<Record<string, string>> = {
  workflow: "/workflows",
  sequence: "/sequences",
  campaign: "/campaigns",
  run: "/runs",
  rule: "/rules",
  execution: "/executions",
  item: "/outbox",
  contact: "/contacts",
  segment: "/segments",
  template: "/templates",
  connection: "/connections",
  user: "/people",
};

/** The address of what a line is about; nothing for what has no screen or is no more. */
export function placeOf(line: Pick<AuditLine, "subjectKind" | "subjectId" | "event">): string | undefined {
  const section = PLACES[line.subjectKind];
  return section && line.event !== "deleted" ? `${section}/${line.subjectId}` : undefined;
}

/** The detail in one line: `name: welcome · fields: limits, position`. */
export function detailInWords(detail: Readonly<Record<string, unknown>>): string {
  return Object.entries(detail)
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => `${wordsOf(name).toLowerCase()}: ${valueInWords(value)}`)
    .join(" · ");
}

function valueInWords(value: unknown): string {
  if (Array.isArray(value)) return value.map(valueInWords).join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}
