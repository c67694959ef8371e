/** The lines of two texts side by side: which stayed, which went, which came. */

export interface Line {
  kind: "same" | "removed" | "added";
  text: string;
}

const MOST_CELLS = 250_000;

export function lineDifference(before: string, after: string): Line[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  if (old.length * now.length > MOST_CELLS) return [...old.map((text) => removed(text)), ...now.map((text) => added(text))];
  return walked(old, now, commonLengths(old, now));
}

const removed = (text: string): Line => ({ kind: "removed", text });
const added = (text: string): Line => ({ kind: "added", text });

/** How many lines two ends have in common, for each pair of beginnings that are left off. */
function commonLengths(old: readonly string[], now: readonly string[]): number[][] {
  const lengths = Array.from({ length: old.length + 1 }, () => new Array<number>(now.length + 1).fill(0));
  const at = (row: number, column: number) => lengths[row]?.[column] ?? 0;
  for (let row = old.length - 1; row >= 0; row -= 1) {
    for (let column = now.length - 1; column >= 0; column -= 1) {
      const found = old[row] === now[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
      (lengths[row] ?? [])[column] = found;
    }
  }
  return lengths;
}

function walked(old: readonly string[], now: readonly string[], lengths: readonly (readonly number[])[]): Line[] {
  const lines: Line[] = [];
  let [row, column] = [0, 0];
  while (row < old.length || column < now.length) {
    const [was, is] = [old[row], now[column]];
    if (was !== undefined && was === is) {
      lines.push({ kind: "same", text: was });
      row += 1;
      column += 1;
    } else if (is === undefined || (was !== undefined && (lengths[row + 1]?.[column] ?? 0) >= (lengths[row]?.[column + 1] ?? 0))) {
      lines.push(removed(was ?? ""));
      row += 1;
    } else {
      lines.push(added(is));
      column += 1;
    }
  }
  return lines;
}
