import type { Sequence, Step } from "@tidings/client";
import { expect, it } from "vitest";
import { changesOf } from "../../../src/screens/sequences/model/changes";

const step = (id: string, content: string): Step => ({ id, sequenceId: "s", stepOrder: 1, dayOffset: 0, sendHour: 9, channel: "email", to: null, subject: null, content, maxLateness: null, createdAt: "2026-03-02T09:00:00Z" });
const settings = { offsetFrom: "enrollment", timezone: "UTC", onStepFailure: "continue", allowReentry: false } as const;
const at = "2026-03-02T09:00:00Z";
const sequence: Sequence = {
  ...settings,
  timezone: "contact",
  id: "s",
  name: "Onboarding",
  status: "active",
  steps: [step("same", "a"), step("other", "new"), step("more", "c")],
  hasDraft: true,
  published: { ...settings, version: 1, steps: [step("same", "a"), step("other", "old"), step("gone", "d")], publishedAt: at },
  inFlight: [],
  moved: null,
  notReady: [],
  createdAt: at,
  updatedAt: at,
};

it("says which steps and settings publishing would change", () => {
  const changes = changesOf(sequence);
  expect(changes.steps.map(({ kind, step: { id } }) => [kind, id])).toEqual([["changed", "other"], ["added", "more"], ["removed", "gone"]]);
  expect(changes.settings).toEqual(["timezone"]);
});

it("adds every step where nothing is published", () => {
  const changes = changesOf({ ...sequence, published: null });
  expect(changes.steps.map((one) => one.kind)).toEqual(["added", "added", "added"]);
  expect(changes.settings).toEqual([]);
});
