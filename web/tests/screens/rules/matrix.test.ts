import type { MatrixCell } from "@tidings/client";
import { expect, it } from "vitest";
import { cellAt, columnsOf, rowsMatching } from "../../../src/screens/rules/model/matrix";
import { exampleEvent, givenOf, moved, type RuleDraft } from "../../../src/screens/rules/model/draft";

const cell = (channel: "email" | "sms", audience: "lead" | "agent", outcome: string): MatrixCell => ({ channel, audience, outcome, reason: "", ruleId: null, steps: 0, ready: true });
const matrix = {
  channels: ["email" as const, "sms" as const],
  audiences: ["lead" as const, "agent" as const],
  rows: [
    { trigger: "quote_sent", cells: [cell("email", "lead", "enqueued"), cell("sms", "lead", "none"), cell("email", "agent", "none"), cell("sms", "agent", "none")] },
    { trigger: "contract_signed", cells: [cell("email", "lead", "suppressed")] },
  ],
};

it("shows the channels in which something happens, for each audience", () => {
  expect(columnsOf(matrix, { audience: "", all: false })).toEqual([{ audience: "lead", channel: "email" }, { audience: "agent", channel: "email" }]);
  expect(columnsOf(matrix, { audience: "agent", all: true })).toEqual([{ audience: "agent", channel: "email" }, { audience: "agent", channel: "sms" }]);
});

it("finds a cell by its column, and triggers by their letters", () => {
  const [row] = matrix.rows;
  expect(row && cellAt(row, { audience: "lead", channel: "email" })?.outcome).toBe("enqueued");
  expect(rowsMatching(matrix.rows, "Signed").map((one) => one.trigger)).toEqual(["contract_signed"]);
});

it("numbers the messages of a rule as they stand", () => {
  const draft: RuleDraft = { trigger: "quote_sent", channel: "email", audience: "lead", enabled: true, steps: [{ id: "b", stepOrder: 9, channel: "email", template: { body: "B" } }, { template: { body: "A" } }] };
  expect(givenOf(draft).steps).toEqual([{ id: "b", stepOrder: 1, template: { body: "B" } }, { stepOrder: 2, template: { body: "A" } }]);
  expect(moved(["a", "b", "c"], 2, 0)).toEqual(["c", "a", "b"]);
});

it("makes data for the names that messages print", () => {
  expect(exampleEvent(["quote.number", "lead.name", "city"])).toMatchObject({ quote: { number: "number" }, city: "city", lead: { name: "Ada Lovelace" } });
});
