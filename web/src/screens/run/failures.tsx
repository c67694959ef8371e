import type { Run } from "@tidings/client";
import { api } from "../../api/client";
import { useMay } from "../../api/session";
import { useDryRun } from "../../parts/work/use-dry-run";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { type Column, Table } from "../../ui/table";
import { count } from "../../ui/times";
import type { RetryWhere } from "./retry-dialog";
import styles from "./run.module.css";

const words = text.runs;

interface Reason {
  error: string;
  count: number;
}

/** What failed in a run by its reason, each of which can be retried by itself. */
export function Failures({ run, onRetry }: { run: Run; onRetry: (where: RetryWhere) => void }) {
  const may = useMay("operate");
  const plan = useDryRun(JSON.stringify(["retry", run.id, run.counts.failed]), (signal) => api.runs.retry(run.id, { dryRun: true }, { signal }));
  if (run.counts.failed === 0) return <EmptyState title={words.failures} about={words.noFailures} />;
  if (!may) return <EmptyState title={text.problems.noPermissionTitle} about={text.problems.noPermission} />;
  if (plan.error) return <Problem error={plan.error} />;
  if (!plan.data) return <Skeleton />;
  const rows = Object.entries(plan.data.byError)
    .map(([error, count]) => ({ error, count }))
    .sort((one, other) => other.count - one.count);
  const columns: readonly Column<Reason>[] = [
    { id: "count", title: words.count, width: "90px", align: "end", cell: (one) => count(one.count) },
    { id: "error", title: words.reason, width: "minmax(0, 1fr)", cell: (one) => one.error },
    {
      id: "retry",
      title: "",
      width: "120px",
      align: "end",
      cell: (one) => (
        <Button small kind="quiet" onClick={() => onRetry({ error: one.error })}>
          {words.retryThese}
        </Button>
      ),
    },
  ];
  return (
    <>
      <p className={styles.about}>
        {words.failuresAbout} {plan.data.retriedBefore > 0 && words.retriedBefore(plan.data.retriedBefore)}
      </p>
      <Table label={words.failures} columns={columns} rows={rows} rowKey={(one) => one.error} />
    </>
  );
}
