import { describe, expect, test } from "vitest";
import type { Definition } from "../../../src/parts/graph/definition";
import { type FileProblem, readFile, writeFile } from "../../../src/screens/workflows/model/file";

const DEFINITION: Definition = {
  entryNodeId: "hello",
  nodes: [
    { id: "hello", type: "email", to: "{{ email }}", subject: "Welcome: {{ name }}", body: "Good to have you.\nYours" },
    { id: "wait", type: "delay", until: "2027-01-31T09:00:00Z" },
    { id: "no", type: "sms", body: "yes" },
  ],
  edges: [{ from: "hello", to: "wait" }, { from: "wait", to: "no" }],
};
const FILE = { name: "welcome", description: "For the new", active: true, definition: DEFINITION };

describe("the file of a workflow", () => {
  test.each(["yaml", "json"] as const)("is read as it was written, in %s", async (format) => {
    expect(await readFile(await writeFile(FILE, format))).toEqual(FILE);
  });

  test("puts words in quotes that the command line would read as true or false", async () => {
    const written = await writeFile({ ...FILE, definition: { requiredFields: ["on", "no", "y"] } }, "yaml");

    expect(written).toMatch(/"on", "no"/);
  });

  test("has each edge in one line", async () => {
    expect(await writeFile(FILE, "yaml")).toContain("- { from: hello, to: wait }");
  });

  test("keeps times as they are written", async () => {
    const { definition } = await readFile("name: x\nnodes:\n  - { id: a, type: delay, until: 2027-01-31T09:00:00Z }");

    expect(definition["nodes"]).toEqual([{ id: "a", type: "delay", until: "2027-01-31T09:00:00Z" }]);
  });

  test.each([
    ["", "empty"],
    ["name: a\n---\nname: b", "several"],
    ["just words", "notAnObject"],
    ["a: [", "notYaml"],
    ['{"a": ', "notJson"],
  ] as const)("%j is refused as %s", async (text, code) => {
    await expect(readFile(text)).rejects.toMatchObject({ code } satisfies Partial<FileProblem>);
  });

  test("names the line that is wrong", async () => {
    await expect(readFile("name: a\nnodes:\n  - x: 1\n y: 2")).rejects.toMatchObject({ line: expect.any(Number) as number });
  });
});
