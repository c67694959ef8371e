import { describe, expect, it } from "vitest";
import { duration, relativeTime, shortCount } from "../../src/ui/times";

const NOW = Date.parse("2026-03-02T09:00:00Z");

describe("times in words", () => {
  it("say how far away something is", () => {
    expect(relativeTime(new Date("2026-03-02T08:59:55Z"), NOW)).toBe("just now");
    expect(relativeTime(new Date("2026-03-02T08:55:00Z"), NOW)).toBe("5 min. ago");
    expect(relativeTime(new Date("2026-03-05T09:00:00Z"), NOW)).toBe("in 3 days");
    expect(relativeTime(new Date("2026-03-02T08:59:30Z"), NOW)).toBe("30 sec. ago");
  });

  it("say how long something takes in its two largest parts", () => {
    expect(duration(0.25)).toBe("250 ms");
    expect(duration(45)).toBe("45 s");
    expect(duration(3_600 * 3 + 60 * 20 + 5)).toBe("3 h 20 min");
    expect(duration(86_400 * 2)).toBe("2 d");
  });

  it("shorten counts where there is no room", () => {
    expect(shortCount(12_480)).toBe("12.5K");
  });
});
