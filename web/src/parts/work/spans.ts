/** Seconds between two times; nothing while one of them is not known. */
export function secondsOf(start: string | null | undefined, end: string | null | undefined): number | undefined {
  if (!start || !end) return undefined;
  return Math.max(0, (Date.parse(end) - Date.parse(start)) / 1000);
}
