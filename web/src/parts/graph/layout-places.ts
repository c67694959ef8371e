/** Where each cell stands in its layer: as near to the middle of its neighbours as their order and their widths allow. */
import type { Cell } from "./layout";

const GAP = 32;
const SWEEPS = 8;
/** A long edge should be straight before anything else is. */
const PASSING_WEIGHT = 4;

/** The middle of each cell. */
export function placesInLayers(cells: readonly Cell[], layers: readonly (readonly number[])[]): number[] {
  const middles = new Array<number>(cells.length).fill(0);
  for (const layer of layers) spread(cells, layer, middles, () => 0);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const isLast = sweep === SWEEPS - 1;
    const order = sweep % 2 === 0 ? layers : [...layers].reverse();
    for (const layer of order) spread(cells, layer, middles, (cell) => wantedFor(cells, cell, middles, isLast ? "both" : sweep % 2 === 0 ? "before" : "after"));
  }
  return middles;
}

function wantedFor(cells: readonly Cell[], cell: number, middles: readonly number[], side: "before" | "after" | "both"): number {
  const one = cells[cell];
  const neighbours = !one ? [] : side === "both" ? balanced(one, middles) : one[side].map((other) => middles[other] ?? 0);
  if (neighbours.length === 0) return middles[cell] ?? 0;
  return neighbours.reduce((sum, value) => sum + value, 0) / neighbours.length;
}

/** The middle of what is above and the middle of what is below count alike, however many there are. */
function balanced(cell: Cell, middles: readonly number[]): number[] {
  return [cell.before, cell.after]
    .filter((side) => side.length > 0)
    .map((side) => side.reduce((sum, other) => sum + (middles[other] ?? 0), 0) / side.length);
}

interface Block {
  sum: number;
  weight: number;
  count: number;
}

/**
 * Put one layer where it wants to be, in its order and without overlap, as near as can be by least squares.
 *
 * With the widths before each cell taken off, what is asked for is a list that never falls: neighbours that would are merged
 * into a block at their mean (pool adjacent violators).
 */
function spread(cells: readonly Cell[], layer: readonly number[], middles: number[], wanted: (cell: number) => number): void {
  const offsets = offsetsOf(cells, layer);
  const blocks: Block[] = [];
  for (const [place, cell] of layer.entries()) {
    const weight = cells[cell]?.node ? 1 : PASSING_WEIGHT;
    blocks.push({ sum: (wanted(cell) - (offsets[place] ?? 0)) * weight, weight, count: 1 });
    mergeFalling(blocks);
  }
  let place = 0;
  for (const block of blocks) {
    for (const last = place + block.count; place < last; place += 1) middles[layer[place] ?? 0] = block.sum / block.weight + (offsets[place] ?? 0);
  }
}

function mergeFalling(blocks: Block[]): void {
  for (let last = blocks.at(-1), before = blocks.at(-2); last && before; last = blocks.at(-1), before = blocks.at(-2)) {
    if (before.sum / before.weight <= last.sum / last.weight) return;
    blocks.splice(-2, 2, { sum: before.sum + last.sum, weight: before.weight + last.weight, count: before.count + last.count });
  }
}

/** How far right of the layer's first cell each must stand at least. */
function offsetsOf(cells: readonly Cell[], layer: readonly number[]): number[] {
  let right = 0;
  return layer.map((cell, place) => {
    const half = (cells[cell]?.width ?? 0) / 2;
    const middle = place === 0 ? 0 : right + GAP + half;
    right = middle + half;
    return middle;
  });
}
