import type { Overview } from "@tidings/client";
import { expect, it } from "vitest";
import { linesOf } from "../../src/screens/home/overview";
import { plotted } from "../../src/ui/plotted";

const OVERVIEW = {
  at: "2026-03-02T09:02:30Z",
  minutes: [
    { at: "2026-03-02T09:00:00Z", channel: "email", outcome: "sent", count: 5 },
    { at: "2026-03-02T09:02:00Z", channel: "sms", outcome: "sent", count: 2 },
    { at: "2026-03-02T09:02:00Z", channel: "sms", outcome: "failed", count: 1 },
  ],
} as Overview;

it("shows each of the last minutes, those without a send too", () => {
  const { times, series } = linesOf(OVERVIEW, 3, "outcome");

  expect(times.map((at) => new Date(at * 1000).toISOString().slice(11, 16))).toEqual(["09:00", "09:01", "09:02"]);
  expect(series.map((one) => [one.label, one.tone, one.values])).toEqual([
    ["Failed", "bad", [0, 0, 1]],
    ["Sent", "good", [5, 0, 2]],
  ]);
});

it("names channels as people do", () => {
  expect(linesOf(OVERVIEW, 3, "channel").series.map((one) => one.label)).toEqual(["E-mail", "SMS"]);
});

it("stacks series from the back", () => {
  const { times, series } = linesOf(OVERVIEW, 3, "outcome");

  expect(plotted(times, series, true).slice(1)).toEqual([
    [5, 0, 3],
    [0, 0, 1],
  ]);
});
