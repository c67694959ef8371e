import type { ReactNode } from "react";
import { cx } from "./cx";
import styles from "./status.module.css";

export type Tone = "good" | "warn" | "bad" | "info" | "doubt" | "quiet";

/** How each state of the API looks; a state that is not listed is quiet. */
const TONES: Readonly<Record<string, Tone>> = {
  active: "good",
  sent: "good",
  called: "good",
  posted: "good",
  delivered: "good",
  completed: "good",
  done: "good",
  healthy: "good",
  ready: "good",
  running: "info",
  processing: "info",
  enqueued: "info",
  locked: "info",
  queued: "info",
  pending: "info",
  waiting: "info",
  planned: "info",
  scheduled: "info",
  planning: "info",
  retry: "warn",
  retrying: "warn",
  paused: "warn",
  resting: "warn",
  partial: "warn",
  failed: "bad",
  error: "bad",
  deadLettered: "bad",
  dead: "bad",
  inDoubt: "doubt",
};

export function toneOf(state: string): Tone {
  return TONES[state] ?? "quiet";
}

/** The state in words: `inDoubt` becomes `In doubt`. */
export function wordsOf(state: string): string {
  const words = state.replaceAll(/[_-]/g, " ").replaceAll(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A dot and a word: the colour is never alone. */
export function Status({ state, tone = toneOf(state), children }: { state: string; tone?: Tone; children?: ReactNode }) {
  return (
    <span className={styles.status}>
      <span className={cx(styles.dot, styles[tone])} aria-hidden />
      {children ?? wordsOf(state)}
    </span>
  );
}

/** A word in a soft box, for a kind of thing rather than its state. */
export function Tag({ tone = "quiet", children }: { tone?: Tone; children: ReactNode }) {
  return <span className={cx(styles.tag, styles[tone])}>{children}</span>;
}
