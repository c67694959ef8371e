/** How far a run is, how fast it goes, and how long it still takes. */
import type { Counts, Run } from "@tidings/client";
import { text } from "../../text";
import type { Part } from "../../ui/progress";

const words = text.runs;

/** What has reached its end: queued and in doubt are what is left. */
export function doneOf({ planned, queued, inDoubt }: Counts): number {
  return planned - queued - inDoubt;
}

export function reachedOf({ sent, called, posted }: Counts): number {
  return sent + called + posted;
}

/** The parts that add up to what is planned. */
export function partsOf(counts: Counts): Part[] {
  const parts: Part[] = [
    { label: words.sent, value: reachedOf(counts), tone: "good" },
    { label: words.failed, value: counts.failed, tone: "bad" },
    { label: words.skipped, value: counts.skipped, tone: "quiet" },
    { label: words.inDoubt, value: counts.inDoubt, tone: "doubt" },
  ];
  return parts.filter((part) => part.value > 0 || part.label === words.sent);
}

export interface Sample {
  at: number;
  done: number;
}

const WINDOW_MS = 60_000;
const LEAST_MS = 4_000;

/** The samples of the last minute with a new one; after a count that fell, a retry say, they begin again. */
export function withSample(samples: readonly Sample[], next: Sample): readonly Sample[] {
  const last = samples.at(-1);
  if (last && next.done < last.done) return [next];
  const recent = samples.filter((one) => next.at - one.at <= WINDOW_MS);
  return [...recent, next];
}

/** Messages a minute, of what was seen in the last minute; before that, since it was started. */
export function rateOf(samples: readonly Sample[], run: Pick<Run, "startedAt" | "counts">, now: number): number | undefined {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first && last && last.at - first.at >= LEAST_MS) return ((last.done - first.done) * 60_000) / (last.at - first.at);
  if (!run.startedAt) return undefined;
  const minutes = (now - Date.parse(run.startedAt)) / 60_000;
  return minutes > 0 ? doneOf(run.counts) / minutes : undefined;
}

/** Seconds until nothing is queued any more at this rate. */
export function secondsLeft({ queued }: Counts, perMinute: number | undefined): number | undefined {
  return perMinute && perMinute > 0 ? (queued / perMinute) * 60 : undefined;
}
