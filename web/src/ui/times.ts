/** Times in words. `now` is given, so that what is shown can be tested and ticks together. */

const LOCALE = "en-GB";
const STEPS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const exact = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "long" });
const day = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium" });
const clock = new Intl.DateTimeFormat(LOCALE, { hour: "2-digit", minute: "2-digit" });

/** `5 min. ago`, `in 3 days`, `just now`. */
export function relativeTime(at: Date, now: number): string {
  const seconds = Math.round((at.getTime() - now) / 1000);
  if (Math.abs(seconds) < 10) return "just now";
  const [unit, size] = STEPS.find(([, step]) => Math.abs(seconds) >= step) ?? ["second", 1];
  return relative.format(Math.trunc(seconds / size), unit);
}

export function exactTime(at: Date): string {
  return exact.format(at);
}

export function dayOf(at: Date): string {
  return day.format(at);
}

export function clockTime(at: Date): string {
  return clock.format(at);
}

/** `3 h 20 min`, `45 s`, `2 days 4 h`: the two largest parts. */
export function duration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3_600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [Math.floor(seconds) % 60, "s"],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(" ");
}

const numbers = new Intl.NumberFormat("en");

/** `12,480`. */
export function count(value: number): string {
  return numbers.format(value);
}

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** `12.5K`, for where there is no room. */
export function shortCount(value: number): string {
  return compact.format(value);
}
