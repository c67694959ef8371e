/** The beginning of a CSV file: its columns, and a few lines to recognise them by. The API reads the whole of it. */

export interface Head {
  columns: readonly string[];
  /** The first records, as long as the columns. */
  rows: readonly (readonly string[])[];
}

const HEAD_BYTES = 65_536;
const SHOWN_ROWS = 3;
const DELIMITERS = [",", ";", "\t", "|"] as const;

export async function readHead(file: Blob): Promise<Head | null> {
  const start = await file.slice(0, HEAD_BYTES).text();
  return headOf(start, file.size > HEAD_BYTES);
}

/** Null where there is no line with names in it. */
export function headOf(start: string, isCut = false): Head | null {
  const plain = start.replace(/^\uFEFF/, "");
  const records = recordsOf(plain, delimiterOf(plain.split(/\r?\n/, 1)[0] ?? ""));
  const [columns = [], ...rows] = isCut ? records.slice(0, -1) : records; // the last one may go on where we stopped
  if (!columns.some((name) => name.trim())) return null;
  return { columns: columns.map((name) => name.trim()), rows: rows.slice(0, SHOWN_ROWS) };
}

function delimiterOf(header: string): string {
  const unquoted = header.replaceAll(/"[^"]*"/g, "");
  const counted = DELIMITERS.map((one) => [one, unquoted.split(one).length] as const);
  return counted.reduce((best, one) => (one[1] > best[1] ? one : best))[0];
}

function recordsOf(start: string, delimiter: string): string[][] {
  const records: string[][] = [];
  let record: string[] = [];
  const pattern = new RegExp(`(?:"((?:[^"]|"")*)"|([^${delimiter}\\r\\n]*))(${delimiter === "|" ? "\\|" : delimiter}|\\r?\\n|$)`, "gy");
  for (const [whole, quoted, plain, end] of start.matchAll(pattern)) {
    if (whole === "" && record.length === 0) break;
    record.push(quoted?.replaceAll('""', '"') ?? plain ?? "");
    if (end === delimiter) continue;
    if (record.some(Boolean)) records.push(record);
    record = [];
    if (end === "") break;
  }
  return records;
}

/** A table as CSV in which no program takes a cell for a formula. */
export function csvOf(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((row) => row.map(cell).join(",")).join("\r\n");
}

function cell(value: string | number): string {
  const plain = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
