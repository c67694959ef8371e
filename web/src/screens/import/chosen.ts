import { text } from "../../text";
import { type Head, readHead } from "./csv";

/** A file that was chosen; without a head it has an object on each line, and no columns. */
export interface Chosen {
  key: number;
  file: File;
  head: Head | null;
}

let last = 0;

export async function readChosen(file: File): Promise<Chosen> {
  last += 1;
  if (/\.(ndjson|jsonl)$/i.test(file.name)) return { key: last, file, head: null };
  const head = await readHead(file);
  if (!head) throw new Error(text.importing.tooWide);
  return { key: last, file, head };
}
