/** Errors of a run, put together where only addresses, ids and numbers differ. */

export interface Reason {
  /** The error without what is different each time. */
  text: string;
  count: number;
  /** The longest part that all of them have: what a retry is narrowed by. */
  part: string;
}

const ADDRESS = /[^\s<>()"',;]+@[^\s<>()"',;:]+/g;
const ID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi;
const NUMBER = /\d+(?:\.\d+)*/g;
const HOLES = /‹address›|‹id›|#/;

export function reasonsOf(byError: Readonly<Record<string, number>>): Reason[] {
  const counts = new Map<string, number>();
  for (const [error, count] of Object.entries(byError)) {
    const text = withoutDetails(error);
    counts.set(text, (counts.get(text) ?? 0) + count);
  }
  return [...counts].map(([text, count]) => ({ text, count, part: commonPart(text) })).sort((one, other) => other.count - one.count);
}

/** A code that begins the error, as 550 or 5.1.1, says what it is. */
export function withoutDetails(error: string): string {
  const plain = error.replace(ADDRESS, "‹address›").replace(ID, "‹id›");
  return plain.replace(NUMBER, (number, offset: number) => (offset === 0 || /^\d\.\d\.\d+$/.test(number) ? number : "#"));
}

function commonPart(text: string): string {
  return text
    .split(HOLES)
    .map((part) => part.trim())
    .reduce((longest, part) => (part.length > longest.length ? part : longest), "");
}
