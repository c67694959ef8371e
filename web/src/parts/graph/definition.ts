/** A definition as `workflows apply` reads it: plain JSON, in the spelling that its writer chose. Nothing here changes what it is given. */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}
export type Definition = JsonObject;

export const EMPTY: Definition = { entryNodeId: "", nodes: [], edges: [] };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectsIn(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly Json[]).map((one) => (isObject(one) ? one : {})) : [];
}

export function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

/** The name that a field has in this object: as it is called, or as snake_case writes it. */
export function spellingOf(object: JsonObject, name: string): string {
  if (name in object) return name;
  const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return snake in object ? snake : name;
}

export function fieldOf(object: JsonObject, name: string): Json | undefined {
  return object[spellingOf(object, name)];
}

/** The object with one field changed where it stands, or without it. */
export function withField(object: JsonObject, name: string, value: Json | undefined): JsonObject {
  const key = spellingOf(object, name);
  if (value !== undefined) return { ...object, [key]: value };
  return Object.fromEntries(Object.entries(object).filter(([one]) => one !== key));
}

export function withEntry<One>(list: readonly One[], index: number, value: One): readonly One[] {
  return list.map((one, place) => (place === index ? value : one));
}

/** Whether two values say the same; the order of names does not matter. */
export function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((value, place) => isSame(value as Json, (other as readonly Json[])[place]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => name in other && isSame(one[name], other[name]));
}
