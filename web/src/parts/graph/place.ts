/** Where everything stands: the layout of the whole graph, and what was dragged away from it for now. */
import type { Graph } from "./graph";
import { layOut, type Layout, type Point } from "./layout";

export const NODE_WIDTH = 248;
export const NODE_HEIGHT = 60;

export type Moved = ReadonlyMap<string, Point>;

export interface Placed extends Layout {
  /** The nodes that stand elsewhere than the layout has them: edges at them are drawn straight. */
  moved: Moved;
}

export function layoutOf(graph: Graph): Layout {
  const nodes = graph.nodes.map(({ key }) => ({ key, width: NODE_WIDTH, height: NODE_HEIGHT }));
  return layOut(nodes, graph.edges, graph.entry);
}

export function withMoved(layout: Layout, moved: Moved): Placed {
  const places = new Map([...layout.places].map(([key, place]) => [key, moved.get(key) ?? place]));
  return { ...layout, places, moved };
}

export function placed(graph: Graph): Placed {
  return withMoved(layoutOf(graph), new Map());
}
