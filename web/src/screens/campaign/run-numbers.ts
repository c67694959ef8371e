/** What the counts of a run say. */
import type { Counts, Run } from "@tidings/client";
import { text } from "../../text";
import type { Part } from "../../ui/progress";

const words = text.campaigns.run.parts;

export function doneOf(counts: Counts): number {
  return counts.planned - counts.queued - counts.inDoubt;
}

/** A run with something in doubt is not over, although nothing more leaves. */
export function isOver(run: Pick<Run, "status">): boolean {
  return run.status === "completed" || run.status === "partial" || run.status === "failed";
}

export function partsOf(counts: Counts): Part[] {
  const sent: Part = { label: words.sent, value: counts.sent + counts.called + counts.posted, tone: "good" };
  const others: Part[] = [
    { label: words.failed, value: counts.failed, tone: "bad" },
    { label: words.skipped, value: counts.skipped, tone: "quiet" },
    { label: words.inDoubt, value: counts.inDoubt, tone: "doubt" },
  ];
  return [sent, ...others.filter((part) => part.value > 0)];
}

export function secondsLeft(counts: Counts, perMinute: number): number | null {
  return perMinute > 0 && counts.queued > 0 ? (counts.queued * 60) / perMinute : null;
}

export interface Sample {
  at: number;
  done: number;
}

const WINDOW_MS = 30_000;

/** The samples of the last half minute, with a new one; what counts down begins anew. */
export function withSample(samples: readonly Sample[], next: Sample): readonly Sample[] {
  const last = samples.at(-1);
  if (last && (next.at <= last.at || next.done < last.done)) return next.done < last.done ? [next] : samples;
  return [...samples.filter((one) => next.at - one.at <= WINDOW_MS), next];
}

/** Messages a minute over the samples; nothing while there is one alone. */
export function rateOf(samples: readonly Sample[]): number | null {
  const [first] = samples;
  const last = samples.at(-1);
  if (!first || !last || last.at === first.at) return null;
  return ((last.done - first.done) * 60_000) / (last.at - first.at);
}
