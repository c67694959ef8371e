import { describe, expect, test } from "vitest";
import type { Definition } from "../../../src/parts/graph/definition";
import { freeId, graphOf, refusalOf } from "../../../src/parts/graph/graph";

const WELCOME: Definition = {
  entryNodeId: "hello",
  nodes: [
    { id: "hello", type: "email", subject: "Welcome", body: "Good to have you." },
    { id: "which", type: "branch" },
    { id: "thanks", type: "sms", body: "Thanks" },
  ],
  edges: [
    { from: "hello", to: "which" },
    { from: "which", to: "thanks", condition: { path: "plan", op: "equals", value: "pro" } },
  ],
};

describe("a definition as a graph", () => {
  test("has its nodes by id and its edges by both ends", () => {
    const graph = graphOf(WELCOME);

    expect(graph.nodes.map((node) => node.key)).toEqual(["hello", "which", "thanks"]);
    expect(graph.edges.map((edge) => [edge.from, edge.to, edge.condition?.["path"]])).toEqual([
      ["hello", "which", undefined],
      ["which", "thanks", "plan"],
    ]);
  });

  test("reads both spellings", () => {
    const { entryNodeId, ...rest } = WELCOME;

    expect(graphOf({ ...rest, entry_node_id: entryNodeId ?? "" }).entry).toBe("hello");
  });

  test("has an edge from each step to the next", () => {
    const graph = graphOf({ steps: [{ name: "a", function: "f" }, { name: "b", function: "g" }] });

    expect(graph.form).toBe("steps");
    expect(graph.edges.map((edge) => edge.key)).toEqual(["a → b"]);
    expect(graph.entry).toBe("a");
  });

  test("tells nodes apart that have the same id or none", () => {
    const graph = graphOf({ nodes: [{ id: "a", type: "sms" }, { id: "a", type: "sms" }, { type: "sms" }, "nothing"] });

    expect(new Set(graph.nodes.map((node) => node.key)).size).toBe(4);
  });

  test.each([
    ["hello", "hello", "itself"],
    ["thanks", "hello", "cycle"],
    ["hello", "which", "connected"],
    ["hello", "thanks", undefined],
  ])("an edge from %s to %s is refused as %s", (from, to, refusal) => {
    expect(refusalOf(graphOf(WELCOME), from, to)).toBe(refusal);
  });

  test("an edge that is led elsewhere does not stand in its own way", () => {
    expect(refusalOf(graphOf(WELCOME), "which", "hello", "hello → which")).toBeUndefined();
  });

  test("new ids count on", () => {
    const graph = graphOf({ nodes: [{ id: "email" }, { id: "email_2" }] });

    expect(freeId(graph, "email")).toBe("email_3");
    expect(freeId(graph, "email_2")).toBe("email_3");
    expect(freeId(graph, "sms")).toBe("sms");
  });
});
