import type { Run } from "@tidings/client";
import { api } from "../../api/client";
import { useMay } from "../../api/session";
import { useDryRun } from "../../parts/work/use-dry-run";
import { text } from "../../text";
import { Button, ButtonLink } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { type Column, Table } from "../../ui/table";
import { count } from "../../ui/times";
import type { RetryWhere } from "./retry-dialog";
import { type Reason, reasonsOf } from "./reasons";
import styles from "./run.module.css";

const words = text.runs;

/** What failed in a run by its reason; who may not retry sees the messages that failed. */
export function Failures(props: FailuresProps) {
  const may = useMay("operate");
  if (props.run.counts.failed === 0) return <EmptyState title={words.failures} about={words.noFailures} />;
  if (may) return <Reasons {...props} />;
  const to = <ButtonLink href={`/runs/${props.run.id}?status=failed`}>{words.failedMessages}</ButtonLink>;
  return <EmptyState title={words.failures} about={words.failuresAbout} action={to} />;
}

interface FailuresProps {
  run: Run;
  onRetry: (where: RetryWhere) => void;
}

/** Each reason, which can be retried by itself. */
function Reasons({ run, onRetry }: FailuresProps) {
  const plan = useDryRun(JSON.stringify(["retry", run.id, run.counts.failed]), (signal) => api.runs.retry(run.id, { dryRun: true }, { signal }));
  if (plan.error) return <Problem error={plan.error} />;
  if (!plan.data) return <Skeleton />;
  const rows = reasonsOf(plan.data.byError);
  const columns: readonly Column<Reason>[] = [
    { id: "count", title: words.count, width: "90px", align: "end", cell: (one) => count(one.count) },
    { id: "error", title: words.reason, width: "minmax(0, 1fr)", cell: (one) => one.text },
    {
      id: "retry",
      title: "",
      width: "120px",
      align: "end",
      cell: (one) => (
        <Button small kind="quiet" onClick={() => onRetry(one.part ? { error: one.part } : {})}>
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
      <Table label={words.failures} columns={columns} rows={rows} rowKey={(one) => one.text} />
    </>
  );
}
