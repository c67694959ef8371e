/** Edits of a definition: each takes one and returns the next, with what should be selected then. */
import { type Definition, fieldOf, type Json, type JsonObject, objectsIn, textOf, withEntry, withField } from "../../../parts/graph/definition";
import { edgesFrom, edgesTo, formOf, freeId, type Graph, type GraphEdge, type GraphNode, graphOf, refusalOf } from "../../../parts/graph/graph";
import { renamedIn } from "./rename";

export interface Edited {
  definition: Definition;
  /** The keys of the nodes to select, or of one edge. */
  nodes?: readonly string[];
  edge?: string;
}

export type Where = { after: string } | { edge: string } | null;

/** What a new node of each type begins with; whatever else it needs is told by the checks. */
const BEGINNINGS: Readonly<Record<string, JsonObject>> = {
  email: { subject: "", body: "" },
  push: { title: "", body: "" },
  voice: { script: "" },
  webhook: { body: {} },
  function: { function: "" },
  delay: { duration: "P1D" },
  branch: {},
};

/** Add a node: after another, taking its edges over; in the middle of an edge; or by itself. */
export function addNode(definition: Definition, type: string, where: Where): Edited {
  const graph = graphOf(definition);
  if (graph.form === "steps") return addStep(definition, graph, { name: "", function: "", action: "call" }, where);
  const id = freeId(graph, type);
  return placeNode(definition, graph, { id, type, ...(BEGINNINGS[type] ?? { body: "" }) }, where);
}

function placeNode(definition: Definition, graph: Graph, fields: JsonObject, where: Where): Edited {
  const id = textOf(fields["id"]);
  const withNode = withNodes(definition, [...rawNodes(definition), fields]);
  const begun = graph.nodes.length === 0 ? withField(withNode, "entryNodeId", id) : withNode;
  return { definition: withEdges(begun, edgesAround(definition, graph, id, where)), nodes: [id] };
}

function edgesAround(definition: Definition, graph: Graph, id: string, where: Where): readonly Json[] {
  const edges = rawEdges(definition);
  if (where === null) return edges;
  if ("edge" in where) {
    const split = graph.edges.find((edge) => edge.key === where.edge);
    if (!split) return edges;
    const raw = edges[split.index];
    if (raw === undefined) return edges;
    return [...withEntry(edges, split.index, withField(raw, "to", id)), { from: id, to: split.to }];
  }
  const node = graph.byKey.get(where.after);
  if (!node) return edges;
  if (node.type === "branch") return withArm(graph, edges, node, id);
  return [...edges.map((edge) => (edge["from"] === node.key ? withField(edge, "from", id) : edge)), { from: node.key, to: id }];
}

/** A further way out of a branch: its default if it has none, else a condition still to be written, before the default. */
function withArm(graph: Graph, edges: readonly JsonObject[], node: GraphNode, id: string): readonly Json[] {
  const fallback = edgesFrom(graph, node.key).find((edge) => edge.condition === undefined);
  if (!fallback) return [...edges, { from: node.key, to: id }];
  const arm = { from: node.key, to: id, condition: { path: "", op: "equals", value: "" } };
  return [...edges.slice(0, fallback.index), arm, ...edges.slice(fallback.index)];
}

function addStep(definition: Definition, graph: Graph, step: JsonObject, where: Where): Edited {
  const steps = objectsIn(definition["steps"]);
  const named = freeId(graph, textOf(step["name"]) || "step");
  const place = where && "after" in where ? (graph.byKey.get(where.after)?.index ?? steps.length - 1) : placeOfEdge(graph, where);
  const next = [...steps.slice(0, place + 1), { ...step, name: named }, ...steps.slice(place + 1)];
  return { definition: withField(definition, "steps", next), nodes: [named] };
}

function placeOfEdge(graph: Graph, where: Where): number {
  const edge = where && "edge" in where ? graph.edges.find((one) => one.key === where.edge) : undefined;
  return edge ? (graph.byKey.get(edge.from)?.index ?? -1) : graph.nodes.length - 1;
}

/** Delete nodes; what led to one leads to what came after it, unless there were several. */
export function deleteNodes(definition: Definition, keys: readonly string[]): Edited {
  const follower = nextOf(graphOf(definition), keys.at(-1));
  const next = keys.reduce((left, key) => deleteNode(left, key), definition);
  return { definition: next, nodes: follower && graphOf(next).byKey.has(follower) ? [follower] : [] };
}

function nextOf(graph: Graph, key: string | undefined): string | undefined {
  if (key === undefined) return undefined;
  return edgesTo(graph, key)[0]?.from ?? edgesFrom(graph, key)[0]?.to;
}

function deleteNode(definition: Definition, key: string): Definition {
  const graph = graphOf(definition);
  const node = graph.byKey.get(key);
  if (!node) return definition;
  if (graph.form === "steps") {
    return withField(definition, "steps", objectsIn(definition["steps"]).filter((_, place) => place !== node.index));
  }
  const nodes = rawNodes(definition).filter((_, place) => place !== node.index);
  const isTwice = graph.nodes.some((other) => other !== node && other.id === node.id);
  const edges = isTwice ? rawEdges(definition) : healedEdges(graph, rawEdges(definition), key);
  return withNodes(withEdges(withEntryAfter(definition, graph, node), edges), nodes);
}

function withEntryAfter(definition: Definition, graph: Graph, node: GraphNode): Definition {
  if (graph.entry !== node.key) return definition;
  const next = edgesFrom(graph, node.key)[0]?.to ?? graph.nodes.find((other) => other !== node)?.id ?? "";
  return withField(definition, "entryNodeId", next);
}

function healedEdges(graph: Graph, edges: readonly JsonObject[], key: string): readonly JsonObject[] {
  const out = edgesFrom(graph, key);
  const target = out.length === 1 ? out[0]?.to : undefined;
  const left = edges.filter((edge) => edge["from"] !== key);
  if (target === undefined) return left.filter((edge) => edge["to"] !== key);
  const isDouble = (edge: JsonObject) => left.some((one) => one["from"] === edge["from"] && one["to"] === target);
  return left.filter((edge) => edge["to"] !== key || !isDouble(edge)).map((edge) => (edge["to"] === key ? { ...edge, to: target } : edge));
}

/** A copy after each node; of several, the edges between them are copied as well. */
export function duplicateNodes(definition: Definition, keys: readonly string[]): Edited {
  const [only] = keys;
  if (only !== undefined && keys.length === 1) return duplicateOne(definition, only);
  const graph = graphOf(definition);
  if (graph.form === "steps") return keys.reduce<Edited>((done, key) => duplicateOne(done.definition, key), { definition });
  let next = definition;
  const names = new Map<string, string>();
  for (const node of keys.map((key) => graph.byKey.get(key)).filter((one) => one !== undefined)) {
    const id = freeId(graphOf(next), node.id);
    names.set(node.key, id);
    next = withNodes(next, [...rawNodes(next), { ...node.fields, id }]);
  }
  const inner = rawEdges(definition).filter((edge) => names.has(textOf(edge["from"])) && names.has(textOf(edge["to"])));
  const copied = inner.map((edge) => ({ ...edge, from: names.get(textOf(edge["from"])) ?? "", to: names.get(textOf(edge["to"])) ?? "" }));
  return { definition: withEdges(next, [...rawEdges(next), ...copied]), nodes: [...names.values()] };
}

function duplicateOne(definition: Definition, key: string): Edited {
  const graph = graphOf(definition);
  const node = graph.byKey.get(key);
  if (!node) return { definition };
  if (graph.form === "steps") {
    return addStep(definition, graph, node.fields, { after: key });
  }
  return placeNode(definition, graph, { ...node.fields, id: freeId(graph, node.id) }, { after: key });
}

/** Draw an edge; out of a branch that has its default already, one with a condition still to be written. */
export function connect(definition: Definition, from: string, to: string): Edited {
  const graph = graphOf(definition);
  const node = graph.byKey.get(from);
  if (!node || !graph.byKey.has(to) || refusalOf(graph, from, to)) return { definition };
  const edges = rawEdges(definition);
  const next = node.type === "branch" ? withArm(graph, edges, node, to) : [...edges, { from, to }];
  const drawn = withEdges(definition, next);
  const known = new Set(graph.edges.map((edge) => edge.key));
  return { definition: drawn, edge: graphOf(drawn).edges.find((edge) => !known.has(edge.key))?.key };
}

/** Lead an edge elsewhere; its condition stays. */
export function reconnect(definition: Definition, key: string, from: string, to: string): Edited {
  const graph = graphOf(definition);
  const edge = graph.edges.find((one) => one.key === key);
  if (!edge || refusalOf(graph, from, to, key)) return { definition };
  return editEdge(definition, edge, (raw) => ({ ...raw, from, to }));
}

export function deleteEdge(definition: Definition, key: string): Edited {
  const edge = graphOf(definition).edges.find((one) => one.key === key);
  if (!edge || edge.index < 0) return { definition };
  return { definition: withEdges(definition, rawEdges(definition).filter((_, place) => place !== edge.index)), nodes: [edge.from] };
}

export function setCondition(definition: Definition, key: string, condition: JsonObject | undefined): Edited {
  const edge = graphOf(definition).edges.find((one) => one.key === key);
  return edge ? editEdge(definition, edge, (raw) => withField(raw, "condition", condition)) : { definition };
}

function editEdge(definition: Definition, edge: GraphEdge, change: (raw: JsonObject) => JsonObject): Edited {
  const raw = rawEdges(definition)[edge.index];
  if (!raw) return { definition };
  const next = withEdges(definition, withEntry(rawEdges(definition), edge.index, change(raw)));
  return { definition: next, edge: graphOf(next).edges.find((one) => one.index === edge.index)?.key };
}

/** Have an edge asked sooner (-1) or later (1) among those of its node, or move a step. */
export function moveEdge(definition: Definition, key: string, by: -1 | 1): Edited {
  const graph = graphOf(definition);
  const edge = graph.edges.find((one) => one.key === key);
  if (!edge) return { definition };
  const siblings = edgesFrom(graph, edge.from);
  const other = siblings[siblings.indexOf(edge) + by];
  if (!other) return { definition, edge: key };
  return { definition: withEdges(definition, swapped(rawEdges(definition), edge.index, other.index)), edge: key };
}

export function moveStep(definition: Definition, key: string, by: -1 | 1): Edited {
  const node = graphOf(definition).byKey.get(key);
  const steps = objectsIn(definition["steps"]);
  if (formOf(definition) !== "steps" || !node || !steps[node.index + by]) return { definition, nodes: [key] };
  return { definition: withField(definition, "steps", swapped(steps, node.index, node.index + by)), nodes: [key] };
}

/** Change a node's own fields; its id is changed by renameNode. */
export function updateNode(definition: Definition, key: string, fields: JsonObject): Edited {
  const node = graphOf(definition).byKey.get(key);
  if (!node) return { definition };
  const list = formOf(definition) === "steps" ? "steps" : "nodes";
  return { definition: withField(definition, list, withEntry(objectsIn(definition[list]), node.index, fields)), nodes: [key] };
}

/** Give a node another id: its edges, the entry and what reads its result follow. */
export function renameNode(definition: Definition, key: string, id: string): Edited {
  const graph = graphOf(definition);
  const node = graph.byKey.get(key);
  if (!node || !id || graph.nodes.some((other) => other.id === id)) return { definition, nodes: [key] };
  const name = graph.form === "steps" ? "name" : "id";
  const renamed = updateNode(definition, key, withField(node.fields, name, id)).definition;
  const isTwice = graph.nodes.some((other) => other !== node && other.id === node.id);
  if (isTwice || !node.id) return { definition: renamed, nodes: [id] };
  return { definition: renamedIn(renamed, node.id, id), nodes: [id] };
}

export function setEntry(definition: Definition, key: string): Edited {
  return { definition: withField(definition, "entryNodeId", key), nodes: [key] };
}

export function setOption(definition: Definition, name: string, value: Json | undefined): Edited {
  return { definition: withField(definition, name, value) };
}

function swapped<One>(list: readonly One[], one: number, other: number): readonly One[] {
  const [first, second] = [list[one], list[other]];
  if (first === undefined || second === undefined) return list;
  return withEntry(withEntry(list, one, second), other, first);
}

function rawNodes(definition: Definition): readonly JsonObject[] {
  return objectsIn(fieldOf(definition, "nodes"));
}

function rawEdges(definition: Definition): readonly JsonObject[] {
  return objectsIn(fieldOf(definition, "edges"));
}

function withNodes(definition: Definition, nodes: readonly Json[]): Definition {
  return withField(definition, "nodes", nodes);
}

function withEdges(definition: Definition, edges: readonly Json[]): Definition {
  return withField(definition, "edges", edges);
}
