/** The matrix of rules as a table: which columns it has, and which cell is where. */
import type { MatrixCell, RuleMatrix } from "@tidings/client";

export interface Column {
  audience: string;
  channel: string;
}

type Rows = RuleMatrix["rows"];

/** Channels in which something happens for somebody; every one when all are asked for, or nothing happens anywhere. */
export function columnsOf(matrix: Pick<RuleMatrix, "channels" | "audiences" | "rows">, { audience, all }: { audience: string; all: boolean }): Column[] {
  const audiences = matrix.audiences.filter((one) => !audience || one === audience);
  const used = new Set(matrix.rows.flatMap((row) => row.cells.filter((cell) => cell.outcome !== "none").map((cell) => cell.channel)));
  const channels = matrix.channels.filter((channel) => all || used.size === 0 || used.has(channel));
  return audiences.flatMap((one) => channels.map((channel) => ({ audience: one, channel })));
}

export function cellAt(row: Rows[number], { audience, channel }: Column): MatrixCell | undefined {
  return row.cells.find((cell) => cell.audience === audience && cell.channel === channel);
}

export function rowsMatching(rows: Rows, search: string): Rows {
  const words = search.trim().toLowerCase();
  return words ? rows.filter((row) => row.trigger.toLowerCase().includes(words)) : rows;
}
