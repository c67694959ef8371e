/** What happened in an execution as lines in the order of time, made of its log and its path. */
import type { Execution, ExecutionPath, LogItem, LogLine, PathNode } from "@tidings/client";
import { stateInLog } from "../../parts/work/names";
import { text } from "../../text";
import { type Tone, toneOf, wordsOf } from "../../ui/status";
import { secondsOf } from "../../parts/work/spans";

const words = text.executions;

export interface Happening {
  key: string;
  at: string;
  title: string;
  /** In a second line. */
  about?: string | undefined;
  tone: Tone;
  /** The node it happened at. */
  node?: string | undefined;
  kind?: string | undefined;
  /** The message it is about. */
  itemId?: string;
  seconds?: number | undefined;
  /** It lies ahead. */
  isComing?: boolean;
}

/** A line, or a long time in which nothing happened. */
export type TimelineRow = { gap: number; key: string } | { happening: Happening; key: string };

/** Longer than this, nothing happening is one line. */
const GAP_SECONDS = 30;

export function timelineOf(execution: Execution, log: readonly LogLine[], path: ExecutionPath | undefined, now: number): TimelineRow[] {
  const all = [...beginning(execution), ...log.flatMap(happeningsAt), ...ending(execution), ...coming(execution, path, now)];
  return withGaps(all.sort((one, other) => Number(one.isComing ?? false) - Number(other.isComing ?? false) || compare(one.at, other.at)));
}

function compare(one: string, other: string): number {
  return Date.parse(one) - Date.parse(other);
}

function beginning({ createdAt, triggeredBy }: Execution): Happening[] {
  return [{ key: "created", at: createdAt, title: words.startedBy(triggeredBy ?? "?"), tone: "quiet" }];
}

function ending({ status, completedAt, errorMessage }: Execution): Happening[] {
  if (!completedAt) return [];
  return [{ key: "ended", at: completedAt, title: words.ended[status] ?? wordsOf(status), about: errorMessage ?? undefined, tone: toneOf(status) }];
}

function happeningsAt(line: LogLine): Happening[] {
  if (line.items.length > 0) return line.items.flatMap((item) => happeningsOf(line, item));
  const at = line.kind === "delay" ? line.startedAt : (line.endedAt ?? line.startedAt);
  if (!at) return [];
  const of = { key: line.node, node: line.node, kind: line.kind, tone: toneOf(line.status), at };
  if (line.kind === "delay") return [{ ...of, title: words.waited, tone: "quiet", seconds: secondsOf(line.startedAt, line.endedAt) }];
  if (line.kind === "branch") return [{ ...of, title: words.branchTook, about: takenBy(line.produced), tone: "quiet" }];
  return [{ ...of, title: wordsOf(line.status), about: line.error ?? undefined, seconds: secondsOf(line.startedAt, line.endedAt) }];
}

function takenBy(produced: unknown): string | undefined {
  const taken = (produced as { taken?: unknown } | null)?.taken;
  return typeof taken === "string" ? `→ ${taken}` : undefined;
}

function happeningsOf({ node, kind }: LogLine, item: LogItem): Happening[] {
  const tried = item.failedAttempts.map((attempt): Happening => ({
    key: `${item.id}:${attempt.attempt}`,
    at: attempt.startedAt,
    title: words.attemptFailed(attempt.attempt, attempt.provider),
    about: attempt.error,
    tone: attempt.outcome === "unknown" ? "doubt" : attempt.outcome === "rejected" ? "bad" : "warn",
    node,
    kind,
    itemId: item.id,
    seconds: secondsOf(attempt.startedAt, attempt.endedAt),
  }));
  const at = item.endedAt;
  if (!at) return tried;
  const status = stateInLog(item.status);
  const last = item.failedAttempts.at(-1)?.error;
  const about = item.error && item.error !== last ? item.error : [item.recipient, item.provider && words.byProvider(item.provider)].filter(Boolean).join(" ");
  return [...tried, { key: item.id, at, title: wordsOf(status), about, tone: toneOf(status), node, kind, itemId: item.id, seconds: secondsOf(item.startedAt, at) }];
}

/** What waits, and until when. */
function coming({ status }: Execution, path: ExecutionPath | undefined, now: number): Happening[] {
  const waiting = path?.nodes.filter((node) => node.state === "waiting") ?? [];
  return waiting.map((node): Happening => ({
    key: `waiting:${node.id}`,
    at: node.until ?? new Date(now).toISOString(),
    title: status === "paused" ? text.work.statuses.paused : capitalised(node.why ?? words.waitsFor),
    tone: status === "paused" ? "warn" : toneOfWaiting(node),
    node: node.id,
    kind: node.type,
    isComing: true,
  }));
}

function capitalised(said: string): string {
  return said.charAt(0).toUpperCase() + said.slice(1);
}

export function toneOfWaiting({ why }: Pick<PathNode, "why">): Tone {
  return why?.includes("doubt") ? "doubt" : why?.startsWith("no ") ? "warn" : "info";
}

/** Between two lines that are far apart, one says how far. */
function withGaps(all: readonly Happening[]): TimelineRow[] {
  return all.flatMap((happening, place): TimelineRow[] => {
    const before = all[place - 1];
    const gap = before && !happening.isComing ? (secondsOf(before.at, happening.at) ?? 0) : 0;
    const row = { key: happening.key, happening };
    return gap >= GAP_SECONDS ? [{ key: `gap:${happening.key}`, gap }, row] : [row];
  });
}
