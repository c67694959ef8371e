/** What publishing a sequence's draft would change. */
import type { Sequence, Step } from "@tidings/client";
import { isSame as isSameValue, type Json } from "../../../parts/graph/definition";

export interface StepChange {
  kind: "added" | "changed" | "removed";
  step: Step;
}

export interface Changes {
  steps: StepChange[];
  /** The names of the settings that differ. */
  settings: string[];
}

const SETTINGS = ["offsetFrom", "timezone", "onStepFailure", "allowReentry"] as const;
const FIELDS = ["dayOffset", "stepOrder", "sendHour", "channel", "subject", "content", "maxLateness"] as const;

export function changesOf(sequence: Sequence): Changes {
  const before = new Map((sequence.published?.steps ?? []).map((step) => [step.id, step]));
  const after = new Set(sequence.steps.map((step) => step.id));
  const written = sequence.steps.flatMap((step): StepChange[] => {
    const was = before.get(step.id);
    if (!was) return [{ kind: "added", step }];
    return isSame(was, step) ? [] : [{ kind: "changed", step }];
  });
  const removed = [...before.values()].filter((step) => !after.has(step.id)).map((step): StepChange => ({ kind: "removed", step }));
  const { published } = sequence;
  return { steps: [...written, ...removed], settings: published ? SETTINGS.filter((name) => published[name] !== sequence[name]) : [] };
}

function isSame(one: Step, other: Step): boolean {
  return FIELDS.every((name) => isSameValue(one[name] as Json, other[name] as Json));
}
