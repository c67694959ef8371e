import { describe, expect, it } from "vitest";
import { givenOf, hoursOf, NEW_DRAFT } from "../../src/screens/campaign/draft";
import { rateOf, secondsLeft, withSample } from "../../src/screens/campaign/run-numbers";
import { changedAttributes, rowsOf } from "../../src/screens/contact/attributes";

const COUNTS = { planned: 100, queued: 40, sent: 50, called: 0, posted: 0, failed: 6, skipped: 4, inDoubt: 0 };

describe("a campaign", () => {
  it("is given with nulls for what is empty", () => {
    const given = givenOf({ ...NEW_DRAFT, name: "Spring", rate: "600", latenessHours: "12" });
    expect(given).toMatchObject({ name: "Spring", audience: null, sendHour: null, rate: 600, maxLateness: 43_200 });
  });

  it.each([["PT12H", "12"], ["P1DT2H", "26"], ["PT90M", "1.5"], [null, ""]])("shows %s as %s hours", (duration, hours) => {
    expect(hoursOf(duration)).toBe(hours);
  });
});

describe("the pace of a run", () => {
  it("is that of the last half minute", () => {
    const samples = [{ at: 0, done: 0 }, { at: 20_000, done: 10 }, { at: 50_000, done: 110 }].reduce(withSample, []);
    expect(rateOf(samples)).toBe(200);
    expect(secondsLeft(COUNTS, 200)).toBe(12);
  });

  it("is not known from one look", () => {
    expect(rateOf(withSample([], { at: 1, done: 5 }))).toBeNull();
  });
});

describe("attributes as rows", () => {
  it("stay what they are, a string of digits too", () => {
    const before = { plan: "pro", seats: "37", size: 5, list: ["a"] };
    expect(changedAttributes(before, rowsOf(before))).toEqual({});
    expect(changedAttributes(before, [{ name: "plan", value: "team" }, { name: "seats", value: "38" }])).toEqual({ size: null, list: null, plan: "team", seats: 38 });
  });
});
