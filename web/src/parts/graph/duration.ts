/** ISO 8601 durations of one unit, as the form of a delay writes them: `P3D` is 3 days. */

export type Unit = "seconds" | "minutes" | "hours" | "days" | "weeks";

export interface Amount {
  count: number;
  unit: Unit;
}

const LETTERS: readonly (readonly [Unit, string, string])[] = [
  ["weeks", "P", "W"],
  ["days", "P", "D"],
  ["hours", "PT", "H"],
  ["minutes", "PT", "M"],
  ["seconds", "PT", "S"],
];

export const UNITS: readonly Unit[] = ["minutes", "hours", "days", "weeks", "seconds"];

/** One number and its unit; nothing for what has several, which is written out instead. */
export function amountIn(duration: string): Amount | undefined {
  for (const [unit, before, after] of LETTERS) {
    const [, count] = new RegExp(`^${before}(\\d+(?:\\.\\d+)?)${after}$`).exec(duration) ?? [];
    if (count !== undefined) return { count: Number(count), unit };
  }
  return undefined;
}

export function durationOf({ count, unit }: Amount): string {
  const [, before, after] = LETTERS.find(([name]) => name === unit) ?? ["", "PT", "S"];
  return `${before}${count}${after}`;
}

const PARTS = /^P(?:(\d+(?:\.\d+)?)W)?(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?$/;
const WORDS = ["week", "day", "hour", "minute", "second"];

/** `3 days`, `1 hour 30 minutes`; what cannot be read stays as it is. */
export function durationInWords(duration: string): string {
  const found = PARTS.exec(duration)?.slice(1) ?? [];
  const words = WORDS.flatMap((word, place) => (Number(found[place] ?? 0) ? [`${Number(found[place])} ${word}${Number(found[place]) === 1 ? "" : "s"}`] : []));
  return words.join(" ") || duration;
}
