/**
 * Where nodes are drawn: in layers from top to bottom, with few crossings and straight lines.
 *
 * The usual four steps of layered drawing: no cycles, layers by the longest way, an order within each layer, and places that
 * are as near to the neighbours as the order allows. The same graph is always drawn the same.
 */
import { grouped } from "./grouped";
import { orderLayers } from "./layout-order";
import { placesInLayers } from "./layout-places";

export interface LaidNode {
  key: string;
  width: number;
  height: number;
}

export interface LaidEdge {
  key: string;
  from: string;
  to: string;
}

export interface Point {
  x: number;
  y: number;
}

export interface Layout {
  /** The upper left corner of each node. */
  places: ReadonlyMap<string, Point>;
  /** Where an edge passes layers between its ends: the middle of its way through each. */
  bends: ReadonlyMap<string, readonly Point[]>;
  layers: readonly (readonly string[])[];
}

/** A node, or the place where a long edge passes a layer. */
export interface Cell {
  name: string;
  width: number;
  /** Of a node; where an edge passes there is none. */
  node?: LaidNode;
  before: number[];
  after: number[];
}

export const GAP_BETWEEN_LAYERS = 72;
const PASSING_WIDTH = 32;

export function layOut(nodes: readonly LaidNode[], edges: readonly LaidEdge[], entry: string): Layout {
  const known = new Set(nodes.map((node) => node.key));
  const drawn = edges.filter((edge) => known.has(edge.from) && known.has(edge.to) && edge.from !== edge.to);
  const forward = withoutCycles(nodes, drawn, entry);
  const layerOf = longestWays(nodes, forward);
  const { cells, layers, passing } = cellsOf(nodes, forward, layerOf);
  orderLayers(cells, layers);
  const middles = placesInLayers(cells, layers);
  return finished(cells, layers, middles, passing, forward);
}

/** The edges with those turned round that would lead back. */
function withoutCycles(nodes: readonly LaidNode[], edges: readonly LaidEdge[], entry: string): LaidEdge[] {
  const out = grouped(edges, (edge) => edge.from);
  const state = new Map<string, "open" | "closed">();
  const turned = new Set<string>();
  const visit = (start: string) => {
    if (state.has(start)) return;
    state.set(start, "open");
    const way = [{ key: start, next: 0 }];
    for (let top = way.at(-1); top; top = way.at(-1)) {
      const edge = out.get(top.key)?.[top.next];
      top.next += 1;
      if (!edge) {
        state.set(top.key, "closed");
        way.pop();
      } else if (state.get(edge.to) === "open") turned.add(edge.key);
      else if (!state.has(edge.to)) {
        state.set(edge.to, "open");
        way.push({ key: edge.to, next: 0 });
      }
    }
  };
  const keys = nodes.map((node) => node.key);
  for (const key of keys.includes(entry) ? [entry, ...keys] : keys) visit(key);
  return edges.map((edge) => (turned.has(edge.key) ? { ...edge, from: edge.to, to: edge.from } : edge));
}

/** The layer of each node: one below the lowest that leads to it. */
function longestWays(nodes: readonly LaidNode[], edges: readonly LaidEdge[]): Map<string, number> {
  const layerOf = new Map(nodes.map((node) => [node.key, 0]));
  const open = new Map(nodes.map((node) => [node.key, 0]));
  const out = grouped(edges, (edge) => edge.from);
  for (const edge of edges) open.set(edge.to, (open.get(edge.to) ?? 0) + 1);
  const ready = nodes.map((node) => node.key).filter((key) => open.get(key) === 0);
  for (const key of ready) {
    for (const edge of out.get(key) ?? []) {
      layerOf.set(edge.to, Math.max(layerOf.get(edge.to) ?? 0, (layerOf.get(key) ?? 0) + 1));
      const left = (open.get(edge.to) ?? 0) - 1;
      open.set(edge.to, left);
      if (left === 0) ready.push(edge.to);
    }
  }
  return layerOf;
}

interface Cells {
  cells: Cell[];
  layers: number[][];
  /** The cells that an edge passes, from top to bottom. */
  passing: Map<string, number[]>;
}

function cellsOf(nodes: readonly LaidNode[], edges: readonly LaidEdge[], layerOf: ReadonlyMap<string, number>): Cells {
  const cells: Cell[] = nodes.map((node) => ({ name: node.key, width: node.width, node, before: [], after: [] }));
  const place = new Map(nodes.map((node, index) => [node.key, index]));
  const layers: number[][] = [];
  const put = (cell: number, layer: number) => (layers[layer] ??= []).push(cell);
  for (const [index, node] of nodes.entries()) put(index, layerOf.get(node.key) ?? 0);
  const passing = new Map<string, number[]>();
  for (const edge of edges) {
    const way: number[] = [];
    for (let layer = (layerOf.get(edge.from) ?? 0) + 1; layer < (layerOf.get(edge.to) ?? 0); layer += 1) {
      cells.push({ name: edge.key, width: PASSING_WIDTH, before: [], after: [] });
      way.push(cells.length - 1);
      put(cells.length - 1, layer);
    }
    passing.set(edge.key, way);
    join(cells, [place.get(edge.from) ?? 0, ...way, place.get(edge.to) ?? 0]);
  }
  return { cells, layers: Array.from(layers, (layer) => layer), passing };
}

function join(cells: Cell[], way: readonly number[]): void {
  for (const [index, lower] of way.slice(1).entries()) {
    const upper = way[index] ?? 0;
    cells[upper]?.after.push(lower);
    cells[lower]?.before.push(upper);
  }
}

function finished(cells: readonly Cell[], layers: readonly (readonly number[])[], middles: readonly number[], passing: ReadonlyMap<string, readonly number[]>, edges: readonly LaidEdge[]): Layout {
  const left = Math.min(0, ...cells.map((cell, index) => (middles[index] ?? 0) - cell.width / 2));
  const at = (index: number) => Math.round((middles[index] ?? 0) - left);
  const places = new Map<string, Point>();
  const heights = new Map<number, number>();
  let top = 0;
  for (const layer of layers) {
    const height = Math.max(0, ...layer.map((index) => cells[index]?.node?.height ?? 0));
    for (const index of layer) {
      const node = cells[index]?.node;
      if (node) places.set(node.key, { x: Math.round(at(index) - node.width / 2), y: top });
      heights.set(index, top + height / 2);
    }
    top += height + GAP_BETWEEN_LAYERS;
  }
  const bends = new Map(edges.map((edge) => [edge.key, (passing.get(edge.key) ?? []).map((index) => ({ x: at(index), y: heights.get(index) ?? 0 }))]));
  const named = layers.map((layer) => layer.map((index) => cells[index]?.node?.key).filter((key) => key !== undefined));
  return { places, bends, layers: named };
}
