/** Sample data of a workflow, for previews, tests and simulations: kept in this browser. */
import { useCallback, useMemo, useState } from "react";
import { isObject, type JsonObject } from "../../../parts/graph/definition";
import type { Variable } from "../api";

export interface Sample {
  kind: "data" | "contact";
  text: string;
  contact: { id: string; label: string } | null;
}

export interface SampleState extends Sample {
  /** What the text says; nothing while it is no JSON. */
  data: JsonObject | undefined;
  change: (sample: Partial<Sample>) => void;
}

const FIRST: Sample = { kind: "data", text: '{\n  "name": "Ada",\n  "email": "ada@example.com",\n  "phone": "+442071838750"\n}', contact: null };
const keyOf = (id: string) => `tidings.sample.${id}`;

export function useSample(id: string): SampleState {
  const [sample, setSample] = useState(() => stored(id));
  const change = useCallback(
    (some: Partial<Sample>) =>
      setSample((now) => {
        const next = { ...now, ...some };
        localStorage.setItem(keyOf(id), JSON.stringify(next));
        return next;
      }),
    [id],
  );
  const data = useMemo(() => objectIn(sample.text), [sample.text]);
  return { ...sample, data, change };
}

function stored(id: string): Sample {
  const found = objectIn(localStorage.getItem(keyOf(id)) ?? "");
  return found ? { ...FIRST, ...(found as object) } : FIRST;
}

export function objectIn(text: string): JsonObject | undefined {
  try {
    const found: unknown = JSON.parse(text.trim() || "{}");
    return isObject(found) && text.trim() ? found : undefined;
  } catch {
    return undefined;
  }
}

/** The data with something for each name that a trigger has to bring and that it lacks. */
export function filledIn(data: JsonObject, variables: readonly Variable[]): JsonObject {
  const names = variables.filter((one) => one.origin === "data").map((one) => one.name);
  return names.reduce<JsonObject>((filled, name) => withPath(filled, name.split("."), exampleFor(name)), data);
}

function withPath(object: JsonObject, [first = "", ...rest]: readonly string[], value: string): JsonObject {
  const inner = object[first];
  if (rest.length === 0) return inner === undefined ? { ...object, [first]: value } : object;
  if (inner !== undefined && !isObject(inner)) return object;
  return { ...object, [first]: withPath(inner ?? {}, rest, value) };
}

const EXAMPLES: readonly (readonly [RegExp, string])[] = [
  [/e-?mail/i, "ada@example.com"],
  [/phone|mobile|whatsapp/i, "+442071838750"],
  [/url|link/i, "https://example.com"],
  [/_at$|date|time/i, "2027-01-31T09:00:00Z"],
  [/name/i, "Ada"],
  [/amount|price|total|count|number/i, "12"],
];

function exampleFor(name: string): string {
  return EXAMPLES.find(([pattern]) => pattern.test(name))?.[1] ?? name.split(".").at(-1)?.replaceAll("_", " ") ?? name;
}
