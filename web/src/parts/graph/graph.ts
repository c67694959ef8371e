/** A definition as nodes and edges, whichever form it is written in and however wrong it still is. */
import { grouped } from "./grouped";
import { type Definition, fieldOf, isObject, type JsonObject, objectsIn, textOf } from "./definition";

export interface GraphNode {
  /** Its id; where two have the same, or one has none, its place tells them apart. */
  key: string;
  id: string;
  type: string;
  fields: JsonObject;
  index: number;
}

export interface GraphEdge {
  key: string;
  from: string;
  to: string;
  condition: JsonObject | undefined;
  /** Its place in the definition; a step's edges have none. */
  index: number;
}

export type Form = "graph" | "steps";

export interface Graph {
  form: Form;
  entry: string;
  nodes: readonly GraphNode[];
  edges: readonly GraphEdge[];
  byKey: ReadonlyMap<string, GraphNode>;
}

export function formOf(definition: Definition): Form {
  return "steps" in definition ? "steps" : "graph";
}

export function graphOf(definition: Definition): Graph {
  return formOf(definition) === "steps" ? graphOfSteps(definition) : graphOfNodes(definition);
}

function graphOfNodes(definition: Definition): Graph {
  const nodes = keyed(objectsIn(fieldOf(definition, "nodes")), "id", (one) => textOf(one["type"]));
  const taken = new Map<string, number>();
  const edges = objectsIn(fieldOf(definition, "edges")).map((one, index): GraphEdge => {
    const [from, to] = [textOf(one["from"]), textOf(one["to"])];
    const condition = one["condition"];
    return { key: numbered(taken, `${from} → ${to}`), from, to, index, condition: isObject(condition) ? condition : undefined };
  });
  return made("graph", textOf(fieldOf(definition, "entryNodeId")), nodes, edges);
}

function graphOfSteps(definition: Definition): Graph {
  const nodes = keyed(objectsIn(definition["steps"]), "name", () => "function");
  const edges = nodes.slice(1).map((node, place): GraphEdge => {
    const from = nodes[place]?.key ?? "";
    return { key: `${from} → ${node.key}`, from, to: node.key, condition: undefined, index: -1 };
  });
  return made("steps", nodes[0]?.key ?? "", nodes, edges);
}

function made(form: Form, entry: string, nodes: readonly GraphNode[], edges: readonly GraphEdge[]): Graph {
  return { form, entry, nodes, edges, byKey: new Map(nodes.map((node) => [node.key, node])) };
}

function keyed(objects: readonly JsonObject[], name: string, typeOf: (one: JsonObject) => string): GraphNode[] {
  const taken = new Map<string, number>();
  return objects.map((fields, index) => {
    const id = textOf(fields[name]);
    return { key: numbered(taken, id), id, type: typeOf(fields), fields, index };
  });
}

/** The words themselves the first time, and with a number after that. */
function numbered(taken: Map<string, number>, words: string): string {
  const before = taken.get(words) ?? 0;
  taken.set(words, before + 1);
  return before || !words ? `${words}#${before}` : words;
}

export function edgesFrom(graph: Graph, key: string): readonly GraphEdge[] {
  return graph.edges.filter((edge) => edge.from === key);
}

export function edgesTo(graph: Graph, key: string): readonly GraphEdge[] {
  return graph.edges.filter((edge) => edge.to === key);
}

/** Every node that can be reached from one by its edges, itself included. */
export function reachedFrom(graph: Graph, key: string): ReadonlySet<string> {
  const next = grouped(graph.edges, (edge) => edge.from);
  const seen = new Set([key]);
  for (const one of seen) for (const edge of next.get(one) ?? []) seen.add(edge.to);
  return seen;
}

export type Refusal = "itself" | "cycle" | "connected" | "steps";

/** Why an edge may not be drawn; nothing if it may. */
export function refusalOf(graph: Graph, from: string, to: string, except?: string): Refusal | undefined {
  if (graph.form === "steps") return "steps";
  if (from === to) return "itself";
  const others = except === undefined ? graph : { ...graph, edges: graph.edges.filter((edge) => edge.key !== except) };
  if (reachedFrom(others, to).has(from)) return "cycle";
  return others.edges.some((edge) => edge.from === from && edge.to === to) ? "connected" : undefined;
}

/** An id that no node has: `email`, `email_2`. */
export function freeId(graph: Graph, wanted: string): string {
  const taken = new Set(graph.nodes.map((node) => node.id));
  const base = wanted.replace(/_\d+$/, "") || "node";
  if (!taken.has(base)) return base;
  let number = 2;
  while (taken.has(`${base}_${number}`)) number += 1;
  return `${base}_${number}`;
}
