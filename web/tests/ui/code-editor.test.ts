import { CompletionContext } from "@codemirror/autocomplete";
import { EditorState } from "@codemirror/state";
import { expect, it } from "vitest";
import { completeVariables } from "../../src/ui/code-editor-view";

const VARIABLES = [{ name: "contact.name" }, { name: "email", about: "from the trigger" }];

function offered(doc: string): string[] | null {
  const context = new CompletionContext(EditorState.create({ doc }), doc.length, false);
  return completeVariables(context, VARIABLES)?.options.map((one) => one.label) ?? null;
}

it("offers the known names inside Liquid alone", () => {
  expect(offered("Hello {{ ")).toEqual(["contact.name", "email"]);
  expect(offered("Hello {{ con")).toEqual(["contact.name", "email"]);
  expect(offered("{% if em")).toEqual(["contact.name", "email"]);
  expect(offered("Hello con")).toBeNull();
  expect(offered("{{ email }} con")).toBeNull();
});
