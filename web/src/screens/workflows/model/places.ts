/** Where the API's problems belong: `nodes[2].subject` is a field of a node, `edges[0].condition` an edge, the rest options. */
import type { ProblemPlace } from "@tidings/client";
import type { Graph } from "../../../parts/graph/graph";

export interface PartProblem {
  /** Below the node, the edge or the definition: `subject`, `condition.all[0].path`; empty for the whole of it. */
  field: string;
  message: string;
}

export interface Problems {
  nodes: ReadonlyMap<string, readonly PartProblem[]>;
  edges: ReadonlyMap<string, readonly PartProblem[]>;
  options: readonly PartProblem[];
  count: number;
}

const PLACE = /^(nodes|edges|steps)\[(\d+)\]\.?(.*)$/s;

export function problemsOf(graph: Graph, errors: readonly ProblemPlace[]): Problems {
  const nodes = new Map<string, PartProblem[]>();
  const edges = new Map<string, PartProblem[]>();
  const options: PartProblem[] = [];
  for (const { place, message } of errors) {
    const [, list, index = "", field = ""] = PLACE.exec(place) ?? [];
    const key = list === "edges" ? graph.edges.find((edge) => edge.index === Number(index))?.key : graph.nodes[Number(index)]?.key;
    if (!list || key === undefined) options.push({ field: place, message });
    else listIn(list === "edges" ? edges : nodes, key).push({ field, message });
  }
  return { nodes, edges, options, count: errors.length };
}

function listIn(map: Map<string, PartProblem[]>, key: string): PartProblem[] {
  const list = map.get(key) ?? [];
  map.set(key, list);
  return list;
}

export interface Position {
  message: string;
  line?: number;
  column?: number;
}

/** What is wrong with a field, or with what is in it; a template's problem says its line. */
export function problemsAt(problems: readonly PartProblem[], field: string): Position[] {
  const isIn = (one: PartProblem) => one.field === field || one.field.startsWith(`${field}.`) || one.field.startsWith(`${field}[`);
  return problems.filter(isIn).map(({ message }) => ({ message: withoutPosition(message), ...positionIn(message) }));
}

/** The problems that no field of a form shows. */
export function problemsElsewhere(problems: readonly PartProblem[], fields: readonly string[]): readonly PartProblem[] {
  return problems.filter((one) => !fields.some((field) => problemsAt([one], field).length > 0));
}

const POSITION = / \(line (\d+), column (\d+)\)/;

function positionIn(message: string): { line?: number; column?: number } {
  const [, line, column] = POSITION.exec(message) ?? [];
  return line ? { line: Number(line), column: Number(column) } : {};
}

function withoutPosition(message: string): string {
  return message.replace(/ \(line 1, column \d+\)/, "");
}
