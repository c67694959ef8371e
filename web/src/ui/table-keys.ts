export type Key = "ArrowDown" | "ArrowUp" | "j" | "k" | "Home" | "End" | "PageDown" | "PageUp";

const STEPS: Readonly<Record<Key, number>> = {
  ArrowDown: 1,
  j: 1,
  ArrowUp: -1,
  k: -1,
  PageDown: 15,
  PageUp: -15,
  Home: -Infinity,
  End: Infinity,
};

/** The row that a key leads to; `undefined` for a key that does not move. */
export function nextRow(key: Key, from: number, rows: number): number | undefined {
  const step = (STEPS as Readonly<Record<string, number>>)[key];
  if (step === undefined || rows === 0) return undefined;
  return Math.max(0, Math.min(rows - 1, from + step));
}

/** The selection after one row was toggled, or every row from `anchor` to it made like it. */
export function toggled(
  selected: ReadonlySet<string>,
  keys: readonly string[],
  index: number,
  anchor: number,
): ReadonlySet<string> {
  const key = keys[index];
  if (key === undefined) return selected;
  const next = new Set(selected);
  const add = !selected.has(key);
  for (const one of keys.slice(Math.min(index, anchor), Math.max(index, anchor) + 1)) {
    if (add) next.add(one);
    else next.delete(one);
  }
  return next;
}
