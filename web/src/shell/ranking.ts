/** The entries that fit what is typed, best first: at the start, at the start of a word, anywhere, letter by letter. */
export function ranked<Entry>(entries: readonly Entry[], words: string, nameOf: (entry: Entry) => string): readonly Entry[] {
  const wanted = words.trim().toLowerCase();
  if (!wanted) return entries;
  return entries
    .map((entry) => ({ entry, rank: rankOf(nameOf(entry).toLowerCase(), wanted) }))
    .filter(({ rank }) => rank < Infinity)
    .sort((one, other) => one.rank - other.rank)
    .map(({ entry }) => entry);
}

function rankOf(name: string, wanted: string): number {
  if (name.startsWith(wanted)) return 0;
  if (name.includes(` ${wanted}`)) return 1;
  if (name.includes(wanted)) return 2;
  return isSubsequence(name, wanted) ? 3 : Infinity;
}

function isSubsequence(name: string, wanted: string): boolean {
  let at = 0;
  for (const letter of wanted) {
    at = name.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}
