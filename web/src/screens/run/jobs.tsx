import type { Job, Run } from "@tidings/client";
import { useList } from "../../api/queries";
import { text } from "../../text";
import { Id } from "../../ui/id";
import { Problem } from "../../ui/problem";
import { Status } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";
import { count } from "../../ui/times";

const words = text.runs;
const EVERY_MS = 4_000;

const COLUMNS: readonly Column<Job>[] = [
  { id: "id", title: words.job, width: "130px", cell: (one) => <Id id={one.id} /> },
  { id: "status", title: text.work.status, width: "120px", cell: (one) => <Status state={one.status} /> },
  { id: "type", title: words.jobType, width: "140px", cell: (one) => one.jobType },
  { id: "planned", title: words.planned, width: "90px", align: "end", cell: (one) => count(one.counts.planned) },
  { id: "sent", title: words.sent, width: "90px", align: "end", cell: (one) => count(one.counts.sent + one.counts.called + one.counts.posted) },
  { id: "failed", title: words.failed, width: "80px", align: "end", cell: (one) => count(one.counts.failed) },
  { id: "skipped", title: words.skipped, width: "80px", align: "end", cell: (one) => count(one.counts.skipped) },
  { id: "attempts", title: words.attempts, width: "80px", align: "end", cell: (one) => one.attempts },
  { id: "error", title: words.error, width: "minmax(0, 1fr)", cell: (one) => one.error ?? "–" },
  { id: "started", title: words.started, width: "100px", cell: (one) => <Time at={one.startedAt} /> },
  { id: "completed", title: words.completed, width: "100px", cell: (one) => <Time at={one.completedAt} /> },
];

/** The batches that a run is worked in. */
export function Jobs({ run, isOpen }: { run: Run; isOpen: boolean }) {
  const list = useList("GET /v1/runs/{id}/jobs", { path: { id: run.id }, query: { limit: 200 } }, { every: isOpen ? EVERY_MS : undefined });
  if (list.error) return <Problem error={list.error} onRetry={list.reload} />;
  return <Table label={words.jobs} columns={COLUMNS} rows={list.rows} rowKey={(one) => one.id} isLoading={list.isLoading} more={list.more} />;
}
