/** Attributes as rows of a form. Strings stand as they are, whatever else as JSON. */

export interface AttributeRow {
  name: string;
  value: string;
}

type Attributes = Readonly<Record<string, unknown>>;

export function rowsOf(attributes: Attributes): AttributeRow[] {
  return Object.entries(attributes).map(([name, value]) => ({ name, value: shownValue(value) }));
}

/** What to tell the API: changed and new names with their values, and null for those that are gone. */
export function changedAttributes(before: Attributes, rows: readonly AttributeRow[]): Record<string, unknown> {
  const after = new Map(rows.filter((row) => row.name.trim()).map((row) => [row.name.trim(), row.value]));
  const gone = Object.keys(before).filter((name) => !after.has(name) || after.get(name) === "");
  const changed = [...after].filter(([name, value]) => value !== "" && value !== (name in before ? shownValue(before[name]) : undefined));
  return { ...Object.fromEntries(gone.map((name) => [name, null])), ...Object.fromEntries(changed.map(([name, value]) => [name, valueOf(value)])) };
}

function shownValue(value: unknown): string {
  return typeof value === "string" && typeof valueOf(value) === "string" ? value : JSON.stringify(value);
}

/** What reads as JSON other than a plain word is meant so: `5`, `true`, `["a"]`, and `"5"` for the string. */
function valueOf(typed: string): unknown {
  try {
    return JSON.parse(typed) as unknown;
  } catch {
    return typed;
  }
}
