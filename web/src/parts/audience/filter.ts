/** The builder's rows, and the filter of the API that they mean: docs/reference/filters.md says it in full. */
import { kindOf, WITHOUT_VALUE } from "./fields";

export interface Row {
  field: string;
  /** The name below `attributes`, with dots into what is inside. */
  attribute: string;
  op: string;
  value: string;
}

export type Join = "all" | "any" | "none";

/** Rows of which all, one, or none must hold. */
export interface Group {
  join: Join;
  rows: readonly Row[];
}

export type Filter = Readonly<Record<string, unknown>>;

const EVERYONE: Filter = { all: true };
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?$/;

export const EMPTY_ROW: Row = { field: "tag", attribute: "", op: "is", value: "" };
export const EMPTY_GROUPS: readonly Group[] = [{ join: "all", rows: [EMPTY_ROW] }];

/** Whether a row says all that it must. */
export function isComplete(row: Row): boolean {
  return (row.field !== "attributes" || row.attribute.trim() !== "") && (WITHOUT_VALUE.includes(row.op) || row.value.trim() !== "");
}

/** The filter that the complete rows mean; null while there is none. */
export function filterOf(groups: readonly Group[]): Filter | null {
  const parts = groups.map(groupFilter).filter((one) => one !== null);
  if (parts.length === 0) return null;
  return parts.length === 1 && parts[0] ? parts[0] : { all: parts };
}

function groupFilter({ join, rows }: Group): Filter | null {
  const parts = rows.filter(isComplete).map(rowFilter);
  const [only] = parts;
  if (!only) return null;
  if (join === "none") return { not: parts.length === 1 ? only : { any: parts } };
  if (parts.length === 1) return only;
  return join === "all" ? { all: parts } : { any: parts };
}

function rowFilter(row: Row): Filter {
  const filter = plainFilter(row);
  return row.op === "isNot" ? { not: filter } : filter;
}

function plainFilter({ field, attribute, op, value }: Row): Filter {
  const kind = kindOf(field);
  if (kind === "label") return op === "isOneOf" ? { tags: { any: listOf(value) } } : { tag: value.trim() };
  if (kind === "channel") return { [field]: value };
  if (kind === "consent") return { consent: { [field.slice("consent.".length)]: value } };
  const path = kind === "attribute" ? `attributes.${attribute.trim()}` : field;
  if (op === "equals" && (field === "company" || field === "status")) return { [field]: value.trim() };
  if (WITHOUT_VALUE.includes(op)) return { path, op };
  const typed = kind === "attribute" ? typedValue : (given: string) => given.trim();
  return { path, op, value: op === "in" ? listOf(value).map(typed) : typed(value) };
}

function listOf(value: string): string[] {
  return value.split(",").map((one) => one.trim()).filter(Boolean);
}

/** What stands for a number or for yes and no is given as such, since the value says how both sides are read. */
function typedValue(value: string): string | number | boolean {
  const plain = value.trim();
  if (NUMBER.test(plain) && Number.isSafeInteger(Math.trunc(Number(plain)))) return Number(plain);
  return plain === "true" || plain === "false" ? plain === "true" : plain;
}

/** The rows of a filter; null for one that the builder has no rows for. */
export function groupsOf(filter: Filter): readonly Group[] | null {
  const parts = isList(filter["all"]) && Object.keys(filter).length === 1 ? filter["all"] : [filter];
  const simple = rowsOf(parts);
  if (simple) return [{ join: "all", rows: simple }];
  const groups = parts.map(groupOf);
  return groups.every((one) => one !== null) ? groups : null;
}

function groupOf(filter: Filter): Group | null {
  const [[name, inner] = ["", undefined], ...others] = Object.entries(filter);
  if (others.length === 0 && (name === "all" || name === "any") && isList(inner)) return withRows(name, rowsOf(inner));
  if (others.length === 0 && name === "not" && isFilter(inner)) {
    const { any } = inner;
    return withRows("none", rowsOf(Object.keys(inner).length === 1 && isList(any) ? any : [inner]));
  }
  return withRows("all", rowsOf([filter]));
}

function withRows(join: Join, rows: Row[] | null): Group | null {
  return rows && { join, rows };
}

function rowsOf(filters: readonly Filter[]): Row[] | null {
  const rows = filters.map(rowsOfOne);
  return rows.every((one) => one !== null) ? rows.flat() : null;
}

/** A filter without `any`, and with `not` around one row alone; several names in one object all hold. */
function rowsOfOne(filter: Filter): Row[] | null {
  const { path, op, value, ...named } = filter;
  const rows = Object.entries(named).map(([name, given]) => rowsOfName(name, given));
  if (path !== undefined) rows.push(comparisonRow(path, op, value));
  return rows.every((one) => one !== null) ? rows.flat() : null;
}

function rowsOfName(name: string, given: unknown): Row[] | null {
  if (name === "tag" && typeof given === "string") return [{ ...EMPTY_ROW, value: given }];
  if ((name === "company" || name === "status") && typeof given === "string") return [{ ...EMPTY_ROW, field: name, op: "equals", value: given }];
  if ((name === "has" || name === "allows") && typeof given === "string") return [{ ...EMPTY_ROW, field: name, value: given }];
  if (!isFilter(given)) return null;
  if (name === "consent") return Object.entries(given).map(([channel, value]) => ({ ...EMPTY_ROW, field: `consent.${channel}`, value: String(value) }));
  if (name === "attributes") return attributeRows(given);
  if (name === "tags") return tagRows(given);
  if (name === "not") return negatedRow(given);
  return null;
}

function attributeRows(given: Filter): Row[] | null {
  const plain = Object.entries(given).every(([name, value]) => !name.includes(".") && ["string", "number", "boolean"].includes(typeof value));
  if (!plain) return null;
  return Object.entries(given).map(([attribute, value]) => ({ field: "attributes", attribute, op: "equals", value: String(value) }));
}

function tagRows({ any, all, none, ...rest }: Filter): Row[] | null {
  if (Object.keys(rest).length) return null;
  const rows: Row[] = isLabels(any) ? [{ ...EMPTY_ROW, op: "isOneOf", value: any.join(", ") }] : [];
  if (isLabels(all)) rows.push(...all.map((value) => ({ ...EMPTY_ROW, value })));
  if (isLabels(none)) rows.push(...none.map((value) => ({ ...EMPTY_ROW, op: "isNot", value })));
  return rows.some((row) => row.op === "isOneOf" && isLabels(any) && any.some((one) => one.includes(","))) ? null : rows;
}

function negatedRow(inner: Filter): Row[] | null {
  const rows = rowsOfOne(inner);
  const [row] = rows ?? [];
  return rows?.length === 1 && row?.op === "is" ? [{ ...row, op: "isNot" }] : null;
}

function comparisonRow(path: unknown, op: unknown = "equals", value: unknown): Row[] | null {
  if (typeof path !== "string" || typeof op !== "string") return null;
  const shown = (Array.isArray(value) ? (value as unknown[]) : [value ?? ""]).map(shownValue);
  if (op === "in" && shown.some((one) => one.includes(","))) return null;
  const isOwn = path.startsWith("attributes.");
  if (!isOwn && kindOf(path) === "attribute") return null;
  return [{ field: isOwn ? "attributes" : path, attribute: isOwn ? path.slice("attributes.".length) : "", op, value: shown.join(", ") }];
}

function shownValue(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isFilter(value: unknown): value is Filter {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isList(value: unknown): value is Filter[] {
  return Array.isArray(value) && value.every(isFilter);
}

function isLabels(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

/** What an audience means beside named people: everyone, a segment, or who matches; see `audienceOf`. */
export interface AudienceDraft {
  whom: "everyone" | "segment" | "matching";
  segmentId: string;
  groups: readonly Group[];
  /** The filter where the builder has no rows for it: kept, and edited as JSON. */
  written: string | null;
  /** People one by one, which a file or a program gave: kept as they are. */
  named: Filter;
}

export const EMPTY_AUDIENCE: AudienceDraft = { whom: "matching", segmentId: "", groups: EMPTY_GROUPS, written: null, named: {} };

/** An audience as the builder shows it. */
export function draftOf(audience: Filter | null): AudienceDraft {
  if (!audience) return EMPTY_AUDIENCE;
  const { contactIds, excludeContactIds, segmentId, exclude, ...filter } = audience;
  const named = Object.fromEntries(Object.entries({ contactIds, excludeContactIds }).filter(([, ids]) => ids !== undefined && ids !== null));
  const isEveryone = filter["all"] === true && !isFilter(exclude);
  const joined = joinedWith(filter["all"] === true ? {} : filter, exclude);
  const groups = Object.keys(joined).length ? groupsOf(joined) : EMPTY_GROUPS;
  return {
    whom: isEveryone ? "everyone" : segmentId ? "segment" : "matching",
    segmentId: typeof segmentId === "string" ? segmentId : "",
    groups: groups ?? EMPTY_GROUPS,
    written: groups ? null : JSON.stringify(joined, null, 2),
    named,
  };
}

/** Who is excluded by a filter is who must not match it, as long as nobody is named one by one. */
function joinedWith(filter: Filter, exclude: unknown): Filter {
  if (!isFilter(exclude)) return filter;
  return Object.keys(filter).length ? { all: [filter, { not: exclude }] } : { not: exclude };
}

/** The audience for the API; null while it names nobody. */
export function audienceOf(draft: AudienceDraft): Filter | null {
  const filter = draft.written === null ? filterOf(draft.groups) : parsed(draft.written);
  const names = Object.keys(draft.named).length > 0;
  if (draft.whom === "everyone") return { ...EVERYONE, ...draft.named };
  if (draft.whom === "segment") return draft.segmentId ? { segmentId: draft.segmentId, ...filter, ...draft.named } : null;
  return filter || names ? { ...filter, ...draft.named } : null;
}

function parsed(written: string): Filter | null {
  try {
    const value: unknown = JSON.parse(written);
    return isFilter(value) && Object.keys(value).length ? value : null;
  } catch {
    return null;
  }
}
