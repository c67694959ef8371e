/** What follows when a node gets another id. */
import { type Definition, fieldOf, isObject, type Json, type JsonObject, objectsIn, withField } from "../../../parts/graph/definition";

const LIQUID = /\{\{[\s\S]*?\}\}|\{%[\s\S]*?%\}/g;

/** Edges, the entry, `vars.ID` in templates and in the paths of conditions. */
export function renamedIn(definition: Definition, from: string, to: string): Definition {
  const entry = fieldOf(definition, "entryNodeId") === from ? withField(definition, "entryNodeId", to) : definition;
  const edges = objectsIn(fieldOf(entry, "edges")).map((edge) => withEnds(edge, from, to));
  const led = fieldOf(entry, "edges") === undefined ? entry : withField(entry, "edges", edges);
  return everyText(led, (value, name) => (name === "path" ? inPath(value, from, to) : inTemplate(value, from, to))) as JsonObject;
}

function withEnds(edge: JsonObject, from: string, to: string): JsonObject {
  const renamed = (one: Json | undefined) => (one === from ? to : (one ?? ""));
  return { ...edge, from: renamed(edge["from"]), to: renamed(edge["to"]) };
}

function everyText(value: Json, change: (text: string, name: string) => string, name = ""): Json {
  if (typeof value === "string") return change(value, name);
  if (Array.isArray(value)) return (value as readonly Json[]).map((one) => everyText(one, change, name));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, everyText(one, change, key)]));
}

function inPath(path: string, from: string, to: string): string {
  return path === `vars.${from}` || path.startsWith(`vars.${from}.`) ? `vars.${to}${path.slice(5 + from.length)}` : path;
}

/** In what Liquid reads, never in the text around it. */
export function inTemplate(source: string, from: string, to: string): string {
  const name = from.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const dotted = new RegExp(`\\bvars\\.${name}(?![\\w-])`, "g");
  const indexed = new RegExp(`\\bvars\\[(["'])${name}\\1\\]`, "g");
  const target = /^[A-Za-z_][\w-]*$/.test(to) ? `vars.${to}` : `vars[${JSON.stringify(to)}]`;
  return source.replaceAll(LIQUID, (part) => part.replaceAll(dotted, () => target).replaceAll(indexed, () => target));
}
