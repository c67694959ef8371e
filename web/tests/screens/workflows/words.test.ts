import { describe, expect, test } from "vitest";
import { conditionInWords, conditionOf, rowsOf, valueShown, valueTyped } from "../../../src/parts/graph/conditions";
import { amountIn, durationInWords, durationOf } from "../../../src/parts/graph/duration";
import type { JsonObject } from "../../../src/parts/graph/definition";
import { graphOf } from "../../../src/parts/graph/graph";
import { begin, did, redo, undo } from "../../../src/screens/workflows/model/history";
import { layOut } from "../../../src/parts/graph/layout";
import { nextNode } from "../../../src/parts/graph/navigate";
import { problemsAt, problemsElsewhere, problemsOf } from "../../../src/screens/workflows/model/places";
import { summaryOf } from "../../../src/parts/graph/summary";

const PRO = { path: "plan", op: "equals", value: "pro" };

describe("conditions", () => {
  test.each<[JsonObject, string]>([
    [PRO, "plan is pro"],
    [{ path: "vars.a.ok", op: "exists" }, "vars.a.ok is there"],
    [{ all: [PRO, { any: [{ path: "n", op: "greater", value: 5 }, { tag: "vip" }] }] }, "plan is pro and (n > 5 or contact tag vip)"],
    [{ not: PRO }, "not (plan is pro)"],
    [{ tags: { any: ["vip", "paid"] } }, "contact tags any vip, paid"],
  ])("%j reads: %s", (condition, words) => {
    expect(conditionInWords(condition)).toBe(words);
  });

  test("that are rows are shown as rows, and are the same again", () => {
    const several = { any: [PRO, { path: "seats", op: "exists" }] };

    expect(rowsOf(PRO)).toEqual({ join: "all", rows: [PRO] });
    expect(conditionOf(rowsOf(several) ?? { join: "all", rows: [] })).toEqual(several);
    expect(rowsOf({ not: PRO })).toBeUndefined();
    expect(rowsOf({ all: [{ any: [PRO] }] })).toBeUndefined();
  });

  test.each([["5", 5], ["true", true], ['["a", "b"]', ["a", "b"]], ['"5"', "5"], ["pro", "pro"], ["1,000", "1,000"]])("typed %s is %j", (typed, value) => {
    expect(valueTyped(typed)).toEqual(value);
    expect(valueTyped(valueShown(value))).toEqual(value);
  });
});

describe("durations", () => {
  test.each([["P3D", { count: 3, unit: "days" }], ["PT30M", { count: 30, unit: "minutes" }], ["PT0.5S", { count: 0.5, unit: "seconds" }]] as const)("%s is one amount", (written, amount) => {
    expect(amountIn(written)).toEqual(amount);
    expect(durationOf(amount)).toBe(written);
  });

  test("of several units are no amount, and have words", () => {
    expect(amountIn("P1DT2H")).toBeUndefined();
    expect(durationInWords("P1DT2H")).toBe("1 day 2 hours");
    expect(durationInWords("soon")).toBe("soon");
  });
});

test("a node's card says what it does", () => {
  const cards = graphOf({
    nodes: [
      { id: "a", type: "email", subject: " Hello,\n {{ name }}" },
      { id: "b", type: "delay", delayMs: 90_000 },
      { id: "c", type: "delay", until: "{{ appointment_at }}" },
      { id: "d", type: "function", function: "invoice", action: "create" },
    ],
  }).nodes.map(summaryOf);

  expect(cards).toEqual(["Hello, {{ name }}", "1 minute 30 seconds", "until appointment_at", "invoice · create"]);
});

describe("problems", () => {
  const graph = graphOf({ nodes: [{ id: "a", type: "email" }], edges: [{ from: "a", to: "b" }] });
  const problems = problemsOf(graph, [
    { place: "nodes[0].subject", message: "is not closed (line 3, column 2)" },
    { place: "nodes[0]", message: "cannot be reached" },
    { place: "edges[0].to", message: "is not the id of a node" },
    { place: "entryNodeId", message: "is not the id of a node" },
    { place: "nodes[9].id", message: "unknown" },
  ]);

  test("are found at their node, their edge and the rest", () => {
    expect(problems.nodes.get("a")).toHaveLength(2);
    expect(problems.edges.get("a → b")).toHaveLength(1);
    expect(problems.options.map((one) => one.field)).toEqual(["entryNodeId", "nodes[9].id"]);
  });

  test("are found at their field, with their line, and elsewhere", () => {
    const ofNode = problems.nodes.get("a") ?? [];

    expect(problemsAt(ofNode, "subject")).toMatchObject([{ line: 3, column: 2 }]);
    expect(problemsElsewhere(ofNode, ["subject"]).map((one) => one.message)).toEqual(["cannot be reached"]);
  });
});

describe("history", () => {
  test("undoes and does again", () => {
    const typed = did(did(begin("a"), "b", 0), "c", 10);

    expect(undo(typed).present).toBe("b");
    expect(undo(undo(undo(typed))).present).toBe("a");
    expect(redo(undo(typed)).present).toBe("c");
    expect(did(undo(typed), "d", 20).future).toEqual([]);
  });

  test("takes letters typed into one field as one", () => {
    const typed = did(did(did(begin(""), "h", 0, "a.subject"), "hi", 300, "a.subject"), "hi!", 9000, "a.subject");

    expect(typed.past).toEqual(["", "hi"]);
  });
});

describe("arrow keys", () => {
  const graph = graphOf({ entryNodeId: "a", nodes: ["a", "b", "c", "d"].map((id) => ({ id, type: "sms" })), edges: [["a", "b"], ["a", "c"], ["b", "d"], ["c", "d"]].map(([from = "", to = ""]) => ({ from, to })) });
  const layout = layOut(graph.nodes.map(({ key }) => ({ key, width: 240, height: 64 })), graph.edges, "a");

  test.each([
    [undefined, "down", "a"],
    ["a", "up", "a"],
    ["b", "right", "c"],
    ["c", "left", "b"],
    ["b", "down", "d"],
    ["c", "up", "a"],
  ] as const)("from %s %s is %s", (from, direction, to) => {
    expect(nextNode(graph, layout, from, direction)).toBe(to);
  });
});
