import type { GivenRetry, Run } from "@tidings/client";
import { useLocation } from "wouter";
import { api } from "../../api/client";
import { invalidate } from "../../api/queries";
import { Counted } from "../../parts/work/counted";
import { useDryRun } from "../../parts/work/use-dry-run";
import styles from "../../parts/work/work.module.css";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Problem } from "../../ui/problem";
import { toast } from "../../ui/toast";
import { useSubmit } from "../../ui/use-submit";
import { reasonsOf } from "./reasons";

const words = text.runs;

export type RetryWhere = NonNullable<GivenRetry["where"]>;

interface RetryDialogProps {
  run: Run;
  where: RetryWhere;
  onClose: () => void;
}

/** Trying again what failed, in a new run: first what would be sent. */
export function RetryDialog({ run, where, onClose }: RetryDialogProps) {
  const [, navigate] = useLocation();
  const plan = useDryRun(JSON.stringify(["retry", run.id, where]), (signal) => api.runs.retry(run.id, { where, dryRun: true }, { signal }));
  const { busy, problem, onSubmit } = useSubmit(async () => {
    const done = await api.runs.retry(run.id, { where });
    toast(words.retried(done.count));
    await invalidate("/v1/runs", "/v1/failures");
    onClose();
    if (done.run) navigate(`/runs/${done.run.id}`);
  });
  const total = plan.data?.count ?? 0;
  const actions = (
    <>
      <Button onClick={onClose}>{text.common.cancel}</Button>
      <Button kind="primary" type="submit" form="retry" busy={busy} disabled={total === 0}>
        {words.retryVerb(total)}
      </Button>
    </>
  );
  return (
    <Dialog open onClose={onClose} title={words.retryTitle} about={words.retryAbout} actions={actions}>
      <form id="retry" onSubmit={onSubmit} style={{ display: "contents" }}>
        {plan.error && <Problem error={plan.error} />}
        {!plan.data && !plan.error && <p className={styles.quiet}>{words.checking}</p>}
        {plan.data && (
          <div role="status" className={styles.plan}>
            <b>{total ? words.wouldSend(total) : words.wouldNone}</b>
            <Counted counts={Object.fromEntries(reasonsOf(plan.data.byError).map((one) => [one.text, one.count]))} />
            {plan.data.retriedBefore > 0 && <p>{words.retriedBefore(plan.data.retriedBefore)}</p>}
          </div>
        )}
        {problem !== null && <Problem error={problem} />}
      </form>
    </Dialog>
  );
}
