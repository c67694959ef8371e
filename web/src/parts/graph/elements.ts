/** What React Flow draws, made of a graph and of what a screen has to say about its parts. */
import { MarkerType, Position } from "@xyflow/react";
import type { ReactNode } from "react";
import { text } from "../../text";
import { conditionInWords } from "./conditions";
import type { LineEdge } from "./edge-line";
import type { Graph, GraphEdge } from "./graph";
import type { CardNode } from "./node-card";
import { NODE_HEIGHT, NODE_WIDTH, type Placed } from "./place";
import { summaryOf } from "./summary";

/** What a screen says about a node or an edge. */
export interface Marking {
  note?: ReactNode;
  tone?: string;
  isDim?: boolean;
  problems?: number;
}

export interface Marks {
  nodes?: ReadonlyMap<string, Marking>;
  edges?: ReadonlyMap<string, Marking>;
}

const SIZE = { width: NODE_WIDTH, height: NODE_HEIGHT };
/** Known beforehand, so that edges are drawn without measuring anything. */
const HANDLES = [
  { type: "target" as const, position: Position.Top, x: NODE_WIDTH / 2, y: 0, width: 1, height: 1 },
  { type: "source" as const, position: Position.Bottom, x: NODE_WIDTH / 2, y: NODE_HEIGHT, width: 1, height: 1 },
];

export function cardsOf(graph: Graph, { places }: Placed, { nodes: marks }: Marks): CardNode[] {
  return graph.nodes.map((node): CardNode => {
    const marking = marks?.get(node.key) ?? {};
    return {
      id: node.key,
      type: "card",
      position: places.get(node.key) ?? { x: 0, y: 0 },
      width: NODE_WIDTH,
      height: NODE_HEIGHT,
      measured: SIZE,
      handles: HANDLES,
      ariaLabel: [text.graph.kinds[node.type] ?? node.type, node.id, summaryOf(node)].filter(Boolean).join(": "),
      data: { node, isEntry: node.key === graph.entry, problems: 0, ...marking },
    };
  });
}

export function linesOf(graph: Graph, { bends, moved }: Placed, { edges: marks }: Marks): LineEdge[] {
  const drawn = graph.edges.filter((edge) => graph.byKey.has(edge.from) && graph.byKey.has(edge.to));
  return drawn.map((edge): LineEdge => {
    const isMoved = moved.has(edge.from) || moved.has(edge.to);
    return {
      id: edge.key,
      type: "line",
      source: edge.from,
      target: edge.to,
      focusable: false,
      markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16, color: "var(--border-strong)" },
      data: { bends: isMoved ? [] : (bends.get(edge.key) ?? []), ...wordsOf(graph, edge), problems: 0, ...marks?.get(edge.key) },
    };
  });
}

function wordsOf(graph: Graph, edge: GraphEdge): { words?: string; isElse?: boolean } {
  if (edge.condition) return { words: conditionInWords(edge.condition) };
  return graph.byKey.get(edge.from)?.type === "branch" ? { words: text.graph.otherwise, isElse: true } : {};
}
