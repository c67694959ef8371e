import { expect, it } from "vitest";
import { heatOf, levelOf, nextCell } from "../../../src/screens/sequences/model/heat";

const hour = (day: string, at: number, step: string, count: number) => ({ day, hour: at, step, channel: "email", count });
const heat = heatOf({
  start: "2026-03-02T23:30:00Z",
  end: "2026-03-06T23:30:00Z",
  timeZone: "Europe/Berlin",
  calendar: [hour("2026-03-04", 9, "a", 3), hour("2026-03-04", 9, "b", 1), hour("2026-03-05", 14, "a", 16), hour("2026-03-06", 9, "b", 1)],
});

it("has every day of the time zone asked for", () => {
  expect(heat.days).toEqual(["2026-03-03", "2026-03-04", "2026-03-05", "2026-03-06", "2026-03-07"]);
});

it("adds up the steps of an hour and keeps how many each has", () => {
  expect(heat.cells[0]).toMatchObject({ day: 1, hour: 9, count: 4 });
  expect([...(heat.cells[0]?.steps ?? [])]).toEqual([["a", 3], ["b", 1]]);
  expect(heat.most).toBe(16);
});

it("tells few from many and never shows messages as none", () => {
  expect([1, 4, 16].map((count) => levelOf(count, 16))).toEqual([2, 3, 5]);
  expect(levelOf(1, 1_000_000)).toBe(1);
});

it("goes to the nearest hour with messages in the direction of an arrow", () => {
  const [first, second, third] = heat.cells;
  if (!first || !second || !third) throw new Error("three hours have messages");
  expect(nextCell(heat.cells, first, "ArrowRight")).toBe(third);
  expect(nextCell(heat.cells, first, "ArrowDown")).toBe(second);
  expect(nextCell(heat.cells, first, "ArrowLeft")).toBe(first);
  expect(nextCell(heat.cells, second, "ArrowUp")).toBe(first);
});
