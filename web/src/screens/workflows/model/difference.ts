/** What changed from one definition to another: by node, by edge, by field. */
import { type Definition, fieldOf, isObject, isSame, type Json, type JsonObject } from "../../../parts/graph/definition";
import { type Graph, type GraphEdge, type GraphNode, graphOf } from "../../../parts/graph/graph";

export type Change = "added" | "removed" | "changed";

export interface FieldChange {
  /** With dots into objects: `retry.attempts`. */
  field: string;
  before: Json | undefined;
  after: Json | undefined;
}

export interface PartChange {
  change: Change;
  /** A node's or an edge's key; of the options, nothing. */
  key: string;
  type: string;
  fields: readonly FieldChange[];
}

export interface Difference {
  nodes: readonly PartChange[];
  edges: readonly PartChange[];
  options: readonly FieldChange[];
  /** Steps that are the same, in another order. */
  isReordered: boolean;
}

const PARTS = new Set(["nodes", "edges", "steps"]);

export function differenceOf(before: Definition, after: Definition): Difference {
  const [old, now] = [graphOf(before), graphOf(after)];
  return {
    nodes: partsOf(old.nodes, now.nodes, fieldsOfNode),
    edges: old.form === "graph" && now.form === "graph" ? partsOf(old.edges, now.edges, fieldsOfEdge) : [],
    options: fieldChanges(optionsOf(before), optionsOf(after)),
    isReordered: isReordered(old, now),
  };
}

export function isEmpty(difference: Difference): boolean {
  return !difference.isReordered && difference.nodes.length + difference.edges.length + difference.options.length === 0;
}

/** How many parts differ, as a title says it. */
export function sizeOf(difference: Difference): number {
  return difference.nodes.length + difference.edges.length + difference.options.length + (difference.isReordered ? 1 : 0);
}

interface Part {
  key: string;
}

function partsOf<One extends Part>(old: readonly One[], now: readonly One[], fields: (one: One) => JsonObject): PartChange[] {
  const before = new Map(old.map((one) => [one.key, one]));
  const after = new Map(now.map((one) => [one.key, one]));
  const gone = old.filter((one) => !after.has(one.key)).map((one) => partOf("removed", one, fieldChanges(fields(one), {})));
  const changed = now.flatMap((one) => {
    const was = before.get(one.key);
    const found = fieldChanges(was ? fields(was) : {}, fields(one));
    if (was && found.length === 0) return [];
    return [partOf(was ? "changed" : "added", one, found)];
  });
  return [...changed, ...gone];
}

function partOf(change: Change, one: Part & { type?: string }, fields: readonly FieldChange[]): PartChange {
  return { change, key: one.key, type: one.type ?? "", fields };
}

function fieldsOfNode(node: GraphNode): JsonObject {
  return camelCased(Object.fromEntries(Object.entries(node.fields).filter(([name]) => name !== "id" && name !== "name")));
}

function fieldsOfEdge(edge: GraphEdge): JsonObject {
  return edge.condition ? { condition: edge.condition } : {};
}

function optionsOf(definition: Definition): JsonObject {
  return camelCased(Object.fromEntries(Object.entries(definition).filter(([name]) => !PARTS.has(name))));
}

/** The two spellings of a field are one field. */
function camelCased(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()), value]));
}

/** The fields that differ; of objects, each field in them, except conditions, which are read whole. */
export function fieldChanges(before: JsonObject, after: JsonObject, place = ""): FieldChange[] {
  const names = [...new Set([...Object.keys(after), ...Object.keys(before)])];
  return names.flatMap((name): FieldChange[] => {
    const [was, is] = [before[name], after[name]];
    const field = place ? `${place}.${name}` : name;
    if (isSame(was, is)) return [];
    if (isObject(was) && isObject(is) && name !== "condition") return fieldChanges(was, is, field);
    return [{ field, before: was, after: is }];
  });
}

function isReordered(old: Graph, now: Graph): boolean {
  if (now.form === "graph") return edgesReordered(old, now);
  const kept = (one: Graph, other: Graph) => one.nodes.map((node) => node.key).filter((key) => other.byKey.has(key));
  return kept(old, now).join("\n") !== kept(now, old).join("\n");
}

/** Out of a branch the first edge that holds is taken, so the order of edges is part of what it does. */
function edgesReordered(old: Graph, now: Graph): boolean {
  const kept = (one: Graph, other: Graph) => {
    const known = new Set(other.edges.map((edge) => edge.key));
    const ofBranches = one.edges.filter((edge) => one.byKey.get(edge.from)?.type === "branch" && known.has(edge.key));
    return ofBranches.map((edge) => edge.key).sort((a, b) => byNode(a, b)).join("\n");
  };
  return kept(old, now) !== kept(now, old);
}

/** Sorts by the node that an edge leaves and keeps the order of those of one node. */
function byNode(one: string, other: string): number {
  const [first = "", second = ""] = [one.split(" → ")[0], other.split(" → ")[0]];
  return first < second ? -1 : first > second ? 1 : 0;
}

export function entryOf(definition: Definition): Json | undefined {
  return fieldOf(definition, "entryNodeId");
}
