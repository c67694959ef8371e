import { describe, expect, test } from "vitest";
import { layOut, type LaidEdge } from "../../../src/parts/graph/layout";
import { inversions } from "../../../src/parts/graph/layout-order";

const node = (key: string) => ({ key, width: 240, height: 64 });
const edge = (from: string, to: string): LaidEdge => ({ key: `${from} → ${to}`, from, to });

function laid(names: string, ...edges: [string, string][]) {
  const keys = names.split(" ");
  return layOut(keys.map(node), edges.map(([from, to]) => edge(from, to)), keys[0] ?? "");
}

describe("the layout", () => {
  test("draws a chain straight down", () => {
    const { places } = laid("a b c", ["a", "b"], ["b", "c"]);

    expect([...places.values()].map(({ x }) => x)).toEqual([0, 0, 0]);
    expect([...places.values()].map(({ y }) => y)).toEqual([0, 136, 272]);
  });

  test("puts a branch over the middle of its ways, in their order, and what they meet in below", () => {
    const { places, layers } = laid("a b c d", ["a", "b"], ["a", "c"], ["b", "d"], ["c", "d"]);

    expect(layers).toEqual([["a"], ["b", "c"], ["d"]]);
    expect(places.get("a")?.x).toBe(136);
    expect(places.get("d")?.x).toBe(136);
    expect(places.get("b")?.x).toBe(0);
    expect(places.get("c")?.x).toBe(272);
  });

  test("lets no two nodes overlap", () => {
    const keys = Array.from({ length: 60 }, (_, index) => `n${index}`);
    const edges = keys.slice(1).map((key, index) => edge(`n${(index * 7) % (index + 1)}`, key));
    const { places, layers } = layOut(keys.map(node), edges, "n0");

    for (const layer of layers) {
      const lefts = layer.map((key) => places.get(key)?.x ?? 0);
      for (const [index, left] of lefts.slice(1).entries()) expect(left - (lefts[index] ?? 0)).toBeGreaterThanOrEqual(240);
    }
  });

  test("leads a long edge past the layers between", () => {
    const { places, bends } = laid("a b c", ["a", "b"], ["b", "c"], ["a", "c"]);
    const [bend] = bends.get("a → c") ?? [];

    const left = places.get("b")?.x ?? 0;
    expect(bend && (bend.x < left || bend.x > left + 240)).toBe(true);
  });

  test("uncrosses what needs not cross", () => {
    const { layers } = laid("a b c d e", ["a", "b"], ["a", "c"], ["b", "e"], ["c", "d"]);

    expect(layers[2]).toEqual(["e", "d"]);
  });

  test("draws a circle, an edge to nowhere and a node by itself as well", () => {
    const { places } = laid("a b c", ["a", "b"], ["b", "a"], ["a", "gone"], ["c", "c"]);

    expect(places.size).toBe(3);
    expect(places.get("a")?.y).toBe(0);
    expect(places.get("b")?.y).toBe(136);
  });

  test("is the same each time", () => {
    const draw = () => laid("a b c d e f", ["a", "c"], ["a", "b"], ["b", "f"], ["c", "d"], ["d", "f"], ["a", "e"]);

    expect(draw()).toEqual(draw());
  });

  test("draws the two thousand nodes that a workflow may have while nobody waits", () => {
    const keys = Array.from({ length: 2000 }, (_, index) => `n${index}`);
    const edges = keys.slice(1).map((key, index) => edge(`n${Math.floor(index / 3)}`, key));
    const before = performance.now();

    expect(layOut(keys.map(node), edges, "n0").places.size).toBe(2000);
    expect(performance.now() - before).toBeLessThan(5000);
  });
});

test("inversions are counted", () => {
  expect(inversions([1, 2, 3])).toBe(0);
  expect(inversions([3, 2, 1])).toBe(3);
  expect(inversions([2, 2, 1])).toBe(2);
});
