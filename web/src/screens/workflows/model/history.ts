/** What was done, so that it can be undone: snapshots, which share all that did not change. */

export interface History<State> {
  past: readonly State[];
  present: State;
  future: readonly State[];
  /** Edits of the same thing shortly after each other are undone together, as letters typed into one field. */
  merging: { key: string; at: number } | null;
}

const MOST = 200;
const MERGE_MS = 1_500;

export function begin<State>(present: State): History<State> {
  return { past: [], present, future: [], merging: null };
}

export function did<State>(history: History<State>, present: State, at: number, key: string | null = null): History<State> {
  if (present === history.present) return history;
  const merging = key === null ? null : { key, at };
  const isSame = key !== null && history.merging?.key === key && at - history.merging.at < MERGE_MS;
  if (isSame && history.past.length > 0) return { ...history, present, future: [], merging };
  return { past: [...history.past, history.present].slice(-MOST), present, future: [], merging };
}

export function undo<State>(history: History<State>): History<State> {
  const before = history.past.at(-1);
  if (before === undefined) return history;
  return { past: history.past.slice(0, -1), present: before, future: [history.present, ...history.future], merging: null };
}

export function redo<State>(history: History<State>): History<State> {
  const [after, ...rest] = history.future;
  if (after === undefined) return history;
  return { past: [...history.past, history.present], present: after, future: rest, merging: null };
}
