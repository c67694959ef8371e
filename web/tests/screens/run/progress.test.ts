import type { Counts } from "@tidings/client";
import { describe, expect, it } from "vitest";
import { doneOf, partsOf, rateOf, secondsLeft, withSample } from "../../../src/screens/run/progress";

const COUNTS: Counts = { planned: 1000, queued: 397, sent: 590, called: 0, posted: 0, failed: 6, skipped: 4, inDoubt: 3 };

describe("the progress of a run", () => {
  it("has parts that add up to what is planned, together with what waits", () => {
    const parts = partsOf(COUNTS).reduce((sum, part) => sum + part.value, 0);

    expect(parts + COUNTS.queued).toBe(COUNTS.planned);
    expect(doneOf(COUNTS)).toBe(600);
  });

  it("has the rate of what was seen in the last minute", () => {
    const run = { startedAt: new Date(0).toISOString(), counts: COUNTS };
    const samples = [0, 2_000, 70_000, 80_000].reduce<readonly { at: number; done: number }[]>((all, at) => withSample(all, { at, done: at / 100 }), []);

    expect(samples.map((one) => one.at)).toEqual([70_000, 80_000]);
    expect(rateOf(samples, run, 80_000)).toBe(600);
  });

  it("goes by the time since its start until enough was seen", () => {
    const run = { startedAt: new Date(0).toISOString(), counts: COUNTS };

    expect(rateOf([{ at: 120_000, done: 600 }], run, 120_000)).toBe(300);
    expect(rateOf([], { ...run, startedAt: null }, 120_000)).toBeUndefined();
  });

  it("tells the time left only while it moves", () => {
    expect(secondsLeft(COUNTS, 397)).toBe(60);
    expect(secondsLeft(COUNTS, 0)).toBeUndefined();
  });

  it("begins again after a count that fell", () => {
    expect(withSample([{ at: 0, done: 50 }], { at: 1, done: 10 })).toEqual([{ at: 1, done: 10 }]);
  });
});
