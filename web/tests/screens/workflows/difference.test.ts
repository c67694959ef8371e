import { describe, expect, test } from "vitest";
import type { Definition } from "../../../src/parts/graph/definition";
import { differenceOf, isEmpty, sizeOf } from "../../../src/screens/workflows/model/difference";
import { lineDifference } from "../../../src/screens/workflows/model/lines";

const BEFORE: Definition = {
  entryNodeId: "hello",
  nodes: [
    { id: "hello", type: "email", subject: "Hi", body: "Good day.", retry: { attempts: 3, factor: 2 } },
    { id: "which", type: "branch" },
    { id: "a", type: "sms", body: "A" },
    { id: "b", type: "sms", body: "B" },
  ],
  edges: [
    { from: "hello", to: "which" },
    { from: "which", to: "a", condition: { path: "plan", value: "pro" } },
    { from: "which", to: "b" },
  ],
};
const nodes = BEFORE["nodes"] as readonly Definition[];
const edges = BEFORE["edges"] as readonly Definition[];

describe("the difference of two definitions", () => {
  test("is nothing between two that say the same in another order of names", () => {
    const turned = { edges, nodes: nodes.map((node) => Object.fromEntries(Object.entries(node).reverse())), entry_node_id: "hello" };

    expect(isEmpty(differenceOf(BEFORE, turned))).toBe(true);
  });

  test("names the field, inside of objects too", () => {
    const after = { ...BEFORE, nodes: [{ ...nodes[0], subject: "Hello", retry: { attempts: 5, factor: 2 } }, ...nodes.slice(1)] };

    expect(differenceOf(BEFORE, after as Definition).nodes).toEqual([
      {
        change: "changed",
        key: "hello",
        type: "email",
        fields: [
          { field: "subject", before: "Hi", after: "Hello" },
          { field: "retry.attempts", before: 3, after: 5 },
        ],
      },
    ]);
  });

  test("names nodes and edges that came and went", () => {
    const after = { ...BEFORE, nodes: [...nodes.slice(0, 3), { id: "c", type: "push" }], edges: [edges[0], edges[1], { from: "which", to: "c" }] };
    const found = differenceOf(BEFORE, after as Definition);

    expect(found.nodes.map(({ change, key }) => [change, key])).toEqual([["added", "c"], ["removed", "b"]]);
    expect(found.edges.map(({ change, key }) => [change, key])).toEqual([["added", "which → c"], ["removed", "which → b"]]);
    expect(sizeOf(found)).toBe(4);
  });

  test("sees a condition, an option and the order in which a branch asks", () => {
    const after = { ...BEFORE, maxRetries: 2, edges: [edges[0], edges[2], { ...edges[1], condition: { path: "plan", value: "free" } }] };
    const found = differenceOf(BEFORE, after as Definition);

    expect(found.edges.map((edge) => edge.fields[0]?.field)).toEqual(["condition"]);
    expect(found.options).toEqual([{ field: "maxRetries", before: undefined, after: 2 }]);
    expect(found.isReordered).toBe(true);
  });
});

test("lines that stayed, went and came", () => {
  expect(lineDifference("a\nb\nc", "a\nx\nc").map(({ kind, text }) => `${kind} ${text}`)).toEqual(["same a", "removed b", "added x", "same c"]);
});
