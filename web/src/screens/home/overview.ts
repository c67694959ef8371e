/** How the plot reads what happens in a workspace. */
import type { Overview } from "@tidings/client";
import { text } from "../../text";
import type { Series } from "../../ui/plot";
import { toneOf, type Tone, wordsOf } from "../../ui/status";

export type PlottedBy = "outcome" | "channel";

/** In this order, so that a colour keeps its channel whatever else is sent. */
const CHANNEL_TONES: readonly Tone[] = ["info", "good", "doubt", "warn", "bad", "quiet"];

/** One line for each outcome or channel, with a value for each of the last minutes, those without a send included. */
export function linesOf(overview: Overview, minutes: number, by: PlottedBy): { times: number[]; series: Series[] } {
  const last = Math.floor(Date.parse(overview.at) / 60_000);
  const first = last - minutes + 1;
  const times = Array.from({ length: minutes }, (_, minute) => (first + minute) * 60);
  const names = [...new Set(overview.minutes.map((one) => one[by]))].sort();
  const values = new Map(names.map((name) => [name, times.map(() => 0)]));
  for (const one of overview.minutes) {
    const place = Math.floor(Date.parse(one.at) / 60_000) - first;
    const line = values.get(one[by]);
    if (line?.[place] !== undefined) line[place] += one.count;
  }
  const series = names.map((name, place) => ({
    label: text.channels[name] ?? wordsOf(name),
    tone: by === "outcome" ? toneOf(name) : (CHANNEL_TONES[place % CHANNEL_TONES.length] ?? "quiet"),
    values: values.get(name) ?? [],
  }));
  return { times, series };
}

/** Midnight in UTC, at which the numbers of today begin. */
export function startOfToday(now: Date): string {
  return `${now.toISOString().slice(0, 10)}T00:00:00Z`;
}
