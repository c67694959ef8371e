import type { Run } from "@tidings/client";
import { api } from "../../api/client";

/** Save every message of a run as CSV. */
export async function downloadRun(run: Run): Promise<void> {
  const answer = await api.runs.export(run.id);
  const url = URL.createObjectURL(await answer.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = `run-${run.id}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
