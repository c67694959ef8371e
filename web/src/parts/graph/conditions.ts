/** Conditions on edges: read into rows that a form shows, and said in words. */
import { isObject, type Json, type JsonObject } from "./definition";

export interface Comparison {
  path: string;
  op: string;
  value: Json | undefined;
}

/** What a form of rows can show; everything else is edited as JSON. */
export interface Rows {
  join: "all" | "any";
  rows: readonly Comparison[];
}

export const VALUELESS = new Set(["exists", "missing"]);

export function rowsOf(condition: JsonObject): Rows | undefined {
  const single = comparisonOf(condition);
  if (single) return { join: "all", rows: [single] };
  const [join, ...others] = Object.keys(condition);
  if ((join !== "all" && join !== "any") || others.length > 0) return undefined;
  const listed = condition[join];
  const rows = (Array.isArray(listed) ? (listed as readonly Json[]) : []).map((one) => (isObject(one) ? comparisonOf(one) : undefined));
  return rows.every((one) => one !== undefined) && rows.length > 0 ? { join, rows } : undefined;
}

function comparisonOf(condition: JsonObject): Comparison | undefined {
  const { path, op = "equals", value, ...others } = condition;
  if (typeof path !== "string" || typeof op !== "string" || Object.keys(others).length > 0) return undefined;
  return { path, op, value };
}

export function conditionOf({ join, rows }: Rows): JsonObject {
  const written = rows.map(({ path, op, value }): JsonObject => ({ path, op, ...(VALUELESS.has(op) ? {} : { value: value ?? "" }) }));
  const [only] = written;
  return only && written.length === 1 ? only : { [join]: written };
}

/** What is typed in a value's field: numbers, true and false, and lists are themselves, anything else is a string. */
export function valueTyped(text: string): Json {
  const trimmed = text.trim();
  if (/^-?\d+(\.\d+)?$/.test(trimmed)) return Number(trimmed);
  if (trimmed === "true" || trimmed === "false") return trimmed === "true";
  if (/^[[{"]/.test(trimmed)) return parsed(trimmed) ?? text;
  return text;
}

/** A string that would be read as something else is shown in quotes. */
export function valueShown(value: Json | undefined): string {
  if (value === undefined) return "";
  if (typeof value !== "string") return JSON.stringify(value);
  return valueTyped(value) === value ? value : JSON.stringify(value);
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

const WORDS: Readonly<Record<string, string>> = {
  equals: "is",
  notEquals: "is not",
  greater: ">",
  greaterOrEqual: "≥",
  less: "<",
  lessOrEqual: "≤",
  before: "before",
  after: "after",
  contains: "contains",
  in: "is one of",
  exists: "is there",
  missing: "is missing",
};

export function wordOf(op: string): string {
  return WORDS[op] ?? op;
}

/** A condition as a line beside its edge: `plan is pro and seats > 5`. */
export function conditionInWords(condition: JsonObject): string {
  const single = comparisonOf(condition);
  if (single) return comparisonInWords(single);
  if (isObject(condition["not"])) return `not (${conditionInWords(condition["not"])})`;
  for (const [name, word] of [["all", " and "], ["any", " or "]] as const) {
    const inner = condition[name];
    if (Array.isArray(inner)) return (inner as readonly Json[]).map((one) => joined(one)).join(word);
  }
  return Object.entries(condition).map(([name, value]) => `contact ${filterInWords(name, value)}`).join(" and ");
}

function joined(condition: Json): string {
  if (!isObject(condition)) return "?";
  const isList = Array.isArray(condition["all"]) || Array.isArray(condition["any"]);
  return isList ? `(${conditionInWords(condition)})` : conditionInWords(condition);
}

function comparisonInWords({ path, op, value }: Comparison): string {
  const left = path || "…";
  if (VALUELESS.has(op)) return `${left} ${wordOf(op)}`;
  const right = Array.isArray(value) ? (value as readonly Json[]).map((one) => plain(one)).join(", ") : plain(value ?? "");
  return `${left} ${wordOf(op)} ${right || "…"}`;
}

function filterInWords(name: string, value: Json): string {
  if (!isObject(value)) return `${name} ${plain(value)}`;
  const parts = Object.entries(value).map(([inner, one]) => `${inner} ${Array.isArray(one) ? (one as readonly Json[]).map((each) => plain(each)).join(", ") : plain(one)}`);
  return `${name} ${parts.join(", ")}`;
}

function plain(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
