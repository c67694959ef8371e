/** Where the steps of a sequence stand on a calendar whose day 0 is the enrollment. */
import type { Sequence, Step } from "@tidings/client";

export interface Placed {
  step: Step;
  /** Days since the enrollment, however the sequence counts them. */
  day: number;
  /** Its own day is before that of the step it follows, so it is sent right after it. */
  isLate: boolean;
}

export type Column = { kind: "day"; day: number } | { kind: "gap"; days: number; from: number };

/** Days without a step that are still drawn one by one; more are one narrow column. */
const DRAWN_APART = 2;
const EARLIEST = 8;
const LATEST = 18;

/** The steps in the order in which they are sent. */
export function placed(steps: readonly Step[], offsetFrom: Sequence["offsetFrom"]): Placed[] {
  let last = 0;
  return inOrder(steps).map((step) => {
    const day = offsetFrom === "previous" ? last + step.dayOffset : step.dayOffset;
    const isLate = day < last;
    last = Math.max(last, day);
    return { step, day, isLate };
  });
}

export function inOrder(steps: readonly Step[]): Step[] {
  return [...steps].sort((one, other) => one.stepOrder - other.stepOrder || one.id.localeCompare(other.id));
}

/** The columns from the enrollment to the day after the last step; long times without a step are squeezed. */
export function columnsOf(days: readonly number[]): Column[] {
  const taken = [...new Set([0, ...days])].sort((one, other) => one - other);
  const columns: Column[] = [];
  for (const [place, day] of taken.entries()) {
    const before = taken[place - 1] ?? day - 1;
    columns.push(...between(before + 1, day), { kind: "day", day });
  }
  const last = taken.at(-1) ?? 0;
  return [...columns, { kind: "day", day: last + 1 }];
}

function between(from: number, until: number): Column[] {
  const days = until - from;
  if (days > DRAWN_APART) return [{ kind: "gap", days, from }];
  return Array.from({ length: days }, (_, place) => ({ kind: "day", day: from + place }));
}

/** The hours to draw: working hours, and whatever a step is sent at. */
export function hoursOf(steps: readonly Step[], all: boolean): number[] {
  const given = steps.map((step) => step.sendHour).filter((hour) => hour !== null);
  const first = all ? 0 : Math.min(EARLIEST, ...given);
  const last = all ? 23 : Math.max(LATEST, ...given);
  return Array.from({ length: last - first + 1 }, (_, place) => first + place);
}

export interface Change {
  id: string;
  dayOffset?: number;
  sendHour?: number | null;
  stepOrder?: number;
}

/** What to change so that a step stands on this day and hour, and the steps go on in the order of their days. */
export function moveTo(sequence: Pick<Sequence, "steps" | "offsetFrom">, id: string, day: number, sendHour: number | null): Change[] {
  const now = placed(sequence.steps, sequence.offsetFrom);
  if (sequence.offsetFrom === "previous") return movedAfter(now, id, day, sendHour);
  const moved = now.map((one) => (one.step.id === id ? { ...one, day, step: { ...one.step, sendHour } } : one));
  const sorted = moved.map((one, place) => ({ one, place })).sort((a, b) => timeOf(a.one) - timeOf(b.one) || a.place - b.place);
  const orders = now.map((one) => one.step.stepOrder);
  return sorted.flatMap(({ one }, place) => {
    const stepOrder = orders[place];
    const change = { id: one.step.id, ...(stepOrder === one.step.stepOrder || stepOrder === undefined ? {} : { stepOrder }) };
    if (one.step.id === id) return [{ ...change, dayOffset: day, sendHour }];
    return "stepOrder" in change ? [change] : [];
  });
}

/** Days that count from the step before: those that follow move along. */
function movedAfter(now: readonly Placed[], id: string, day: number, sendHour: number | null): Change[] {
  const place = now.findIndex((one) => one.step.id === id);
  return [{ id, dayOffset: Math.max(0, day - (now[place - 1]?.day ?? 0)), sendHour }];
}

/** A step without an hour is sent at the enrollment's, which nobody knows: it stays where it is within its day. */
function timeOf({ day, step }: Placed): number {
  return day * 24 + (step.sendHour ?? 0);
}

/** How many days it takes from the enrollment to the last step. */
export function lengthOf(sequence: Pick<Sequence, "steps" | "offsetFrom">): number {
  return Math.max(0, ...placed(sequence.steps, sequence.offsetFrom).map((one) => one.day));
}
