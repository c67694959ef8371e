import type { Step } from "@tidings/client";
import { describe, expect, it } from "vitest";
import { columnsOf, hoursOf, lengthOf, moveTo, placed } from "../../../src/screens/sequences/model/calendar";

const step = (id: string, stepOrder: number, dayOffset: number, sendHour: number | null = 9): Step => ({
  id,
  sequenceId: "s",
  stepOrder,
  dayOffset,
  sendHour,
  channel: "email",
  to: null,
  subject: null,
  content: "Good day.",
  maxLateness: null,
  createdAt: "2026-03-02T09:00:00Z",
});

describe("placed", () => {
  it("counts days from the enrollment, in the order of the steps", () => {
    const days = placed([step("b", 2, 3), step("a", 1, 0)], "enrollment").map((one) => [one.step.id, one.day]);
    expect(days).toEqual([["a", 0], ["b", 3]]);
  });

  it("adds up the days that count from the step before", () => {
    const days = placed([step("a", 1, 1), step("b", 2, 3), step("c", 3, 0)], "previous").map((one) => one.day);
    expect(days).toEqual([1, 4, 4]);
  });

  it("says which step is sent right after another because its own day is past", () => {
    const late = placed([step("a", 1, 5), step("b", 2, 2), step("c", 3, 4)], "enrollment").map((one) => one.isLate);
    expect(late).toEqual([false, true, true]);
  });
});

describe("columnsOf", () => {
  it("squeezes long times without a step, and leaves a day to go on", () => {
    expect(columnsOf([0, 2, 30])).toEqual([
      { kind: "day", day: 0 },
      { kind: "day", day: 1 },
      { kind: "day", day: 2 },
      { kind: "gap", days: 27, from: 3 },
      { kind: "day", day: 30 },
      { kind: "day", day: 31 },
    ]);
  });

  it("begins at the enrollment even when nothing is sent then", () => {
    expect(columnsOf([1])[0]).toEqual({ kind: "day", day: 0 });
  });
});

describe("hoursOf", () => {
  it("shows working hours and whatever a step is sent at", () => {
    const hours = hoursOf([step("a", 1, 0, 6), step("b", 2, 1, null)], false);
    expect([hours[0], hours.at(-1)]).toEqual([6, 18]);
    expect(hoursOf([], true)).toHaveLength(24);
  });
});

describe("moveTo", () => {
  it("changes the day and the hour alone where the order stays", () => {
    const sequence = { steps: [step("a", 1, 0), step("b", 2, 3)], offsetFrom: "enrollment" as const };
    expect(moveTo(sequence, "b", 5, 14)).toEqual([{ id: "b", dayOffset: 5, sendHour: 14 }]);
  });

  it("gives the places anew when a step passes another", () => {
    const sequence = { steps: [step("a", 1, 0), step("b", 2, 3), step("c", 5, 7)], offsetFrom: "enrollment" as const };
    expect(moveTo(sequence, "a", 4, 9)).toEqual([
      { id: "b", stepOrder: 1 },
      { id: "a", stepOrder: 2, dayOffset: 4, sendHour: 9 },
    ]);
  });

  it("counts from the step before where the sequence does", () => {
    const sequence = { steps: [step("a", 1, 2), step("b", 2, 3)], offsetFrom: "previous" as const };
    expect(moveTo(sequence, "b", 9, null)).toEqual([{ id: "b", dayOffset: 7, sendHour: null }]);
    expect(moveTo(sequence, "b", 0, 9)).toEqual([{ id: "b", dayOffset: 0, sendHour: 9 }]);
  });
});

it("knows how long a sequence is", () => {
  expect(lengthOf({ steps: [step("a", 1, 2), step("b", 2, 3)], offsetFrom: "previous" })).toBe(5);
  expect(lengthOf({ steps: [], offsetFrom: "previous" })).toBe(0);
});
