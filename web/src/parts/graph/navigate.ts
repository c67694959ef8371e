/** Where the arrow keys lead: up and down along edges, left and right within a layer. */
import { edgesFrom, edgesTo, type Graph } from "./graph";
import type { Layout } from "./layout";

export type Direction = "up" | "down" | "left" | "right";

export const DIRECTIONS: Readonly<Record<string, Direction>> = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };

/** The node to select next; the same one where there is no other. */
export function nextNode(graph: Graph, layout: Layout, from: string | undefined, direction: Direction): string | undefined {
  if (from === undefined || !graph.byKey.has(from)) return graph.byKey.has(graph.entry) ? graph.entry : graph.nodes[0]?.key;
  if (direction === "left" || direction === "right") return besides(layout, from, direction === "left" ? -1 : 1) ?? from;
  const ways = direction === "down" ? edgesFrom(graph, from).map((edge) => edge.to) : edgesTo(graph, from).map((edge) => edge.from);
  return nearest(layout, from, ways.filter((key) => graph.byKey.has(key))) ?? from;
}

function besides(layout: Layout, from: string, step: -1 | 1): string | undefined {
  const layer = layout.layers.find((one) => one.includes(from)) ?? [];
  return layer[layer.indexOf(from) + step];
}

function nearest(layout: Layout, from: string, keys: readonly string[]): string | undefined {
  const at = layout.places.get(from)?.x ?? 0;
  const away = (key: string) => Math.abs((layout.places.get(key)?.x ?? 0) - at);
  return [...keys].sort((one, other) => away(one) - away(other))[0];
}
