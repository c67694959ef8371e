/** The order of nodes within their layers: each near the middle of its neighbours, kept if fewer edges cross. */
import type { Cell } from "./layout";

const SWEEPS = 12;
/** Beyond this many cells the order is good enough after a few sweeps, and waiting would be noticed. */
const MANY = 1_500;

/** Order each layer in place. */
export function orderLayers(cells: readonly Cell[], layers: number[][]): void {
  beginInOrderOfEdges(cells, layers);
  const places = placesOf(cells.length, layers);
  let best = layers.map((layer) => [...layer]);
  let fewest = crossings(cells, layers, places);
  const sweeps = cells.length > MANY ? 4 : SWEEPS;
  for (let sweep = 0; sweep < sweeps && fewest > 0; sweep += 1) {
    const isDown = sweep % 2 === 0;
    const order = isDown ? layers.slice(1) : layers.slice(0, -1).reverse();
    for (const layer of order) sortByNeighbours(cells, layer, places, isDown ? "before" : "after");
    const now = crossings(cells, layers, places);
    if (now >= fewest) continue;
    fewest = now;
    best = layers.map((layer) => [...layer]);
  }
  for (const [index, layer] of best.entries()) layers[index] = layer;
}

/** What is asked first stands on the left: nodes as they are met along the edges, from the top. */
function beginInOrderOfEdges(cells: readonly Cell[], layers: readonly number[][]): void {
  const met = new Map<number, number>();
  const open = [...(layers[0] ?? [])].reverse();
  for (let cell = open.pop(); cell !== undefined; cell = open.pop()) {
    if (met.has(cell)) continue;
    met.set(cell, met.size);
    open.push(...[...(cells[cell]?.after ?? [])].reverse());
  }
  for (const layer of layers) layer.sort((one, other) => (met.get(one) ?? 0) - (met.get(other) ?? 0));
}

function placesOf(count: number, layers: readonly (readonly number[])[]): number[] {
  const places = new Array<number>(count).fill(0);
  for (const layer of layers) for (const [place, cell] of layer.entries()) places[cell] = place;
  return places;
}

function sortByNeighbours(cells: readonly Cell[], layer: number[], places: number[], side: "before" | "after"): void {
  const wanted = new Map(layer.map((cell) => [cell, middleOf(cells[cell]?.[side] ?? [], places) ?? places[cell] ?? 0]));
  layer.sort((one, other) => (wanted.get(one) ?? 0) - (wanted.get(other) ?? 0) || (places[one] ?? 0) - (places[other] ?? 0));
  for (const [place, cell] of layer.entries()) places[cell] = place;
}

function middleOf(neighbours: readonly number[], places: readonly number[]): number | undefined {
  if (neighbours.length === 0) return undefined;
  return neighbours.reduce((sum, one) => sum + (places[one] ?? 0), 0) / neighbours.length;
}

/** How many pairs of edges cross, over all layers. */
function crossings(cells: readonly Cell[], layers: readonly (readonly number[])[], places: readonly number[]): number {
  return layers.reduce((sum, layer) => sum + inversions(endsBelow(cells, layer, places)), 0);
}

function endsBelow(cells: readonly Cell[], layer: readonly number[], places: readonly number[]): number[] {
  const ends = (cell: number) => (cells[cell]?.after ?? []).map((one) => places[one] ?? 0).sort((one, other) => one - other);
  return layer.flatMap(ends);
}

/** How many pairs stand in the wrong order, counted while merging. */
export function inversions(list: readonly number[]): number {
  if (list.length < 2) return 0;
  const middle = list.length >> 1;
  const [left, right] = [list.slice(0, middle), list.slice(middle)];
  const inner = inversions(left) + inversions(right);
  left.sort((one, other) => one - other);
  right.sort((one, other) => one - other);
  let [crossed, at] = [0, 0];
  for (const value of left) {
    while (at < right.length && (right[at] ?? 0) < value) at += 1;
    crossed += at;
  }
  return inner + crossed;
}
