/** What each column of a file becomes, guessed as the API guesses it: docs/reference/contacts.md lists the spellings. */
import { CONTACT_CHANNELS } from "../../parts/audience/fields";

export const PLAIN_FIELDS = ["externalId", "name", "email", "phone", "whatsapp", "company", "status", "timeZone", "locale", "tags", "pushTokens"] as const;

/** One column: a field of a contact, `consent.email`, an attribute under a name, or nothing. */
export interface Target {
  /** A name of `PLAIN_FIELDS`, `consent.CHANNEL`, `attribute` or `none`. */
  field: string;
  /** What the attribute is called. */
  attribute: string;
}

const ALIASES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(PLAIN_FIELDS.map((name) => [lettersOf(name), name])),
  fullname: "name",
  emailaddress: "email",
  mail: "email",
  mobile: "phone",
  phonenumber: "phone",
  telephone: "phone",
  cell: "phone",
  organisation: "company",
  organization: "company",
  language: "locale",
  tz: "timeZone",
  customerid: "externalId",
  customerno: "externalId",
  customernumber: "externalId",
};

const IDENTIFYING: readonly string[] = ["externalId", "email", "phone"];

export function guess(column: string): Target {
  const inner = /^(attributes|consent)\.(.+)$/.exec(column);
  if (inner?.[1] === "consent" && (CONTACT_CHANNELS as readonly string[]).includes(inner[2] ?? "")) return { field: column, attribute: "" };
  if (inner?.[1] === "attributes") return { field: "attribute", attribute: inner[2] ?? "" };
  const field = ALIASES[lettersOf(column)];
  if (field) return { field, attribute: attributeOf(column) };
  const attribute = attributeOf(column);
  return { field: attribute ? "attribute" : "none", attribute };
}

/** Guess each column; of several that look like one field the first has it. */
export function guessAll(columns: readonly string[]): Target[] {
  const taken = new Set<string>();
  return columns.map((column) => {
    const target = guess(column);
    if (target.field === "attribute" || target.field === "none") return target;
    if (taken.has(target.field)) return { field: "attribute", attribute: attributeOf(column) };
    taken.add(target.field);
    return target;
  });
}

function lettersOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");
}

/** The column's words in camelCase, so that a message can print it. */
function attributeOf(column: string): string {
  const words = column.replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2").split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  return words.map((word, place) => (place ? word.charAt(0).toUpperCase() + word.slice(1).toLowerCase() : word.toLowerCase())).join("");
}

/** `map=` of the API: every column says what it is, so that nothing is guessed twice. */
export function columnsOf(columns: readonly string[], targets: readonly Target[]): Record<string, string> {
  const named = columns.map((column, place) => [column, nameOf(targets[place])] as const);
  return Object.fromEntries(named.filter(([column]) => column));
}

function nameOf(target: Target | undefined): string {
  if (!target || target.field === "none") return "";
  return target.field === "attribute" ? `attributes.${target.attribute.trim()}` : target.field;
}

export type MappingProblem = { kind: "twice"; name: string } | { kind: "nobody" };

/** What keeps a mapping from being used. */
export function problemOf(targets: readonly Target[]): MappingProblem | null {
  const names = targets.map(nameOf).filter(Boolean);
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice !== undefined) return { kind: "twice", name: twice };
  return names.some((name) => IDENTIFYING.includes(name)) ? null : { kind: "nobody" };
}
