import { describe, expect, test } from "vitest";
import * as commands from "../../../src/screens/workflows/model/commands";
import { type Definition, EMPTY, objectsIn } from "../../../src/parts/graph/definition";
import { graphOf } from "../../../src/parts/graph/graph";

const PRO = { path: "plan", op: "equals", value: "pro" };
const FORKED: Definition = {
  entryNodeId: "hello",
  nodes: [
    { id: "hello", type: "email", subject: "Hi", body: "Hi" },
    { id: "which", type: "branch" },
    { id: "thanks", type: "sms", body: "{{ vars.hello.status }} is vars.hello.status" },
    { id: "offer", type: "sms", body: "Offer" },
  ],
  edges: [
    { from: "hello", to: "which" },
    { from: "which", to: "thanks", condition: PRO },
    { from: "which", to: "offer" },
  ],
};
const STEPS: Definition = { steps: [{ name: "bill", function: "invoice" }, { name: "tell", function: "mail" }] };

const edgesOf = (definition: Definition) => graphOf(definition).edges.map((edge) => edge.key);
const namesOf = (definition: Definition) => graphOf(definition).nodes.map((node) => node.id);

describe("adding a node", () => {
  test("the first one is the entry", () => {
    const { definition, nodes } = commands.addNode(EMPTY, "email", null);

    expect(definition["entryNodeId"]).toBe("email");
    expect(nodes).toEqual(["email"]);
  });

  test("after another, what came after that comes after the new one", () => {
    const { definition } = commands.addNode(FORKED, "delay", { after: "hello" });

    expect(edgesOf(definition)).toEqual(["delay → which", "which → thanks", "which → offer", "hello → delay"]);
  });

  test("after a branch it is a further way, asked before the default", () => {
    const { definition } = commands.addNode(FORKED, "push", { after: "which" });

    expect(edgesOf(definition)).toEqual(["hello → which", "which → thanks", "which → push", "which → offer"]);
    expect(graphOf(definition).edges[2]?.condition).toEqual({ path: "", op: "equals", value: "" });
  });

  test("in the middle of an edge, the condition stays before it", () => {
    const { definition } = commands.addNode(FORKED, "delay", { edge: "which → thanks" });

    expect(edgesOf(definition)).toEqual(["hello → which", "which → delay", "which → offer", "delay → thanks"]);
    expect(graphOf(definition).edges[1]?.condition).toEqual(PRO);
  });

  test("a step comes after its step, or in its edge", () => {
    expect(namesOf(commands.addNode(STEPS, "function", { after: "bill" }).definition)).toEqual(["bill", "step", "tell"]);
    expect(namesOf(commands.addNode(STEPS, "function", { edge: "bill → tell" }).definition)).toEqual(["bill", "step", "tell"]);
    expect(namesOf(commands.addNode(STEPS, "function", null).definition)).toEqual(["bill", "tell", "step"]);
  });
});

describe("deleting", () => {
  test("what led to a node leads to what came after it", () => {
    const added = commands.addNode(FORKED, "delay", { edge: "which → thanks" }).definition;
    const { definition } = commands.deleteNodes(added, ["delay"]);

    expect(new Set(edgesOf(definition))).toEqual(new Set(edgesOf(FORKED)));
    expect(graphOf(definition).edges.find((edge) => edge.to === "thanks")?.condition).toEqual(PRO);
  });

  test("the entry passes on to what came next", () => {
    const { definition, nodes } = commands.deleteNodes(FORKED, ["hello"]);

    expect(definition["entryNodeId"]).toBe("which");
    expect(nodes).toEqual(["which"]);
  });

  test("a branch takes its edges along", () => {
    expect(edgesOf(commands.deleteNodes(FORKED, ["which"]).definition)).toEqual([]);
  });

  test("no edge is there twice afterwards", () => {
    const joined = commands.connect(FORKED, "thanks", "offer").definition;

    expect(edgesOf(commands.deleteNodes(joined, ["thanks"]).definition)).toEqual(["hello → which", "which → offer"]);
  });

  test("of two nodes with one id, the edges stay with the other", () => {
    const twice = { ...FORKED, nodes: [...objectsIn(FORKED["nodes"]), { id: "offer", type: "sms", body: "" }] };

    expect(edgesOf(commands.deleteNodes(twice, ["offer#1"]).definition)).toEqual(edgesOf(FORKED));
  });
});

describe("edges", () => {
  test("are drawn once and never in a circle", () => {
    expect(edgesOf(commands.connect(FORKED, "thanks", "offer").definition)).toContain("thanks → offer");
    expect(commands.connect(FORKED, "thanks", "hello").definition).toBe(FORKED);
    expect(commands.connect(FORKED, "which", "offer").definition).toBe(FORKED);
  });

  test("keep their condition when they lead elsewhere", () => {
    const more = commands.addNode(FORKED, "push", null).definition;
    const { definition, edge } = commands.reconnect(more, "which → thanks", "which", "push");

    expect(edge).toBe("which → push");
    expect(graphOf(definition).edges.find((one) => one.key === edge)?.condition).toEqual(PRO);
  });

  test("of a branch can be asked in another order", () => {
    const { definition } = commands.moveEdge(FORKED, "which → offer", -1);

    expect(edgesOf(definition)).toEqual(["hello → which", "which → offer", "which → thanks"]);
    expect(commands.moveEdge(FORKED, "which → offer", 1).definition).toBe(FORKED);
  });
});

describe("duplicating", () => {
  test("one node puts its copy after it", () => {
    const { definition, nodes } = commands.duplicateNodes(FORKED, ["hello"]);

    expect(nodes).toEqual(["hello_2"]);
    expect(edgesOf(definition)).toContain("hello → hello_2");
    expect(edgesOf(definition)).toContain("hello_2 → which");
  });

  test("several nodes copies the edges between them", () => {
    const { definition } = commands.duplicateNodes(FORKED, ["which", "thanks"]);

    expect(edgesOf(definition)).toContain("which_2 → thanks_2");
    expect(graphOf(definition).edges.at(-1)?.condition).toEqual(PRO);
  });
});

describe("renaming a node", () => {
  test("takes its edges, the entry and what reads its result along, and leaves plain text", () => {
    const { definition } = commands.renameNode(FORKED, "hello", "welcome");

    expect(definition["entryNodeId"]).toBe("welcome");
    expect(edgesOf(definition)[0]).toBe("welcome → which");
    expect(graphOf(definition).byKey.get("thanks")?.fields["body"]).toBe("{{ vars.welcome.status }} is vars.hello.status");
  });

  test("to a name that is taken is not done", () => {
    expect(commands.renameNode(FORKED, "hello", "which").definition).toBe(FORKED);
  });

  test("follows into the paths of conditions, and not into names that only begin alike", () => {
    const asked = commands.setCondition(FORKED, "which → thanks", { any: [{ path: "vars.hello.status", op: "exists" }, { path: "vars.hello_2.x", op: "exists" }] });
    const { definition } = commands.renameNode(asked.definition, "hello", "welcome");

    const condition = graphOf(definition).edges.find((edge) => edge.to === "thanks")?.condition;
    expect(condition).toEqual({ any: [{ path: "vars.welcome.status", op: "exists" }, { path: "vars.hello_2.x", op: "exists" }] });
  });
});

test("steps change places", () => {
  expect(namesOf(commands.moveStep(STEPS, "bill", 1).definition)).toEqual(["tell", "bill"]);
  expect(commands.moveStep(STEPS, "bill", -1).definition).toBe(STEPS);
});

test("no command changes what it was given", () => {
  const before = JSON.stringify(FORKED);
  commands.addNode(FORKED, "sms", { after: "which" });
  commands.deleteNodes(FORKED, ["hello", "offer"]);
  commands.renameNode(FORKED, "hello", "x");

  expect(JSON.stringify(FORKED)).toBe(before);
});
