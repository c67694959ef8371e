import type { Decision } from "@tidings/client";

const ORDER = ["enqueued", "fallback", "suppressed", "none"] as const;

/** How many decisions have which outcome; those that do something come first. */
export function countsOf(decisions: readonly Decision[]): (readonly [(typeof ORDER)[number], number])[] {
  return ORDER.map((outcome) => [outcome, decisions.filter((one) => one.outcome === outcome).length] as const).filter(([, count]) => count > 0);
}

/** Decisions by what they do. */
export function inOrder(decisions: readonly Decision[]): Decision[] {
  return [...decisions].sort((one, other) => ORDER.indexOf(one.outcome) - ORDER.indexOf(other.outcome));
}
