import type { FailureReplay } from "@tidings/client";
import { useState } from "react";
import { Link } from "wouter";
import { api } from "../../api/client";
import { problemAt, problemElsewhere } from "../../api/problem";
import { invalidate } from "../../api/queries";
import { Counted } from "../../parts/work/counted";
import { useDryRun } from "../../parts/work/use-dry-run";
import styles from "../../parts/work/work.module.css";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Field } from "../../ui/field";
import { shortId } from "../../ui/id";
import { Problem } from "../../ui/problem";
import { TextInput } from "../../ui/text-input";
import { Time } from "../../ui/time";
import { useSubmit } from "../../ui/use-submit";

const words = text.errors;

interface ReplayDialogProps {
  id: string;
  since: string | undefined;
  onClose: () => void;
}

/** Starting a group again: first what would go on and what cannot and why, then with a rate. */
export function ReplayDialog({ id, since, onClose }: ReplayDialogProps) {
  const [rate, setRate] = useState("");
  const [done, setDone] = useState<FailureReplay | null>(null);
  const given = { ...(since ? { since } : {}), ...(Number(rate) > 0 ? { perMinute: Number(rate) } : {}) };
  const plan = useDryRun(JSON.stringify(["replay", id, given]), (signal) => api.failures.replay(id, { ...given, dryRun: true }, { signal }));
  const { busy, problem, onSubmit } = useSubmit(async () => {
    setDone(await api.failures.replay(id, given));
    await invalidate("/v1/failures", "/v1/executions", "/v1/runs", "/v1/outbox");
  });
  const total = plan.data ? plan.data.executions + plan.data.items : 0;
  const actions = done ? (
    <Button kind="primary" onClick={onClose}>
      {text.common.close}
    </Button>
  ) : (
    <>
      <Button onClick={onClose}>{text.common.cancel}</Button>
      <Button kind="primary" type="submit" form="replay" busy={busy} disabled={total === 0}>
        {words.verb(total)}
      </Button>
    </>
  );
  return (
    <Dialog open onClose={onClose} title={words.replayTitle} about={words.replayAbout} actions={actions}>
      {done ? (
        <Told told={done} isDone />
      ) : (
        <form id="replay" onSubmit={onSubmit} style={{ display: "contents" }}>
          <Field label={words.rate} hint={words.rateHint} problem={problemAt(problem ?? plan.error, "perMinute")}>
            <TextInput type="number" min={1} max={1_000_000} value={rate} onChange={setRate} />
          </Field>
          {plan.error ? <Problem error={plan.error} /> : plan.data ? <Told told={plan.data} /> : <p className={styles.quiet}>{words.checking}</p>}
          {problemElsewhere(problem, ["perMinute"]) !== null && <Problem error={problem} />}
        </form>
      )}
    </Dialog>
  );
}

/** What was started again or would be, and what cannot be and why. */
function Told({ told, isDone = false }: { told: FailureReplay; isDone?: boolean }) {
  const refused = Object.values(told.refused).reduce((sum, one) => sum + one, 0);
  const total = told.executions + told.items;
  return (
    <div role="status" className={styles.plan}>
      {isDone && <b>{words.replayed(total)}</b>}
      {total === 0 && !isDone && <b>{words.nothing}</b>}
      {told.executions > 0 && <p>{words.executionsAgain(told.executions)}</p>}
      {told.items > 0 && <p>{words.itemsAgain(told.items)}</p>}
      {told.lastAt && (
        <p>
          {words.lastAt} <Time at={told.lastAt} exact />
        </p>
      )}
      {told.runs.length > 0 && (
        <p>
          {words.newRuns(told.runs.length)}:{" "}
          {told.runs.map((run) => (
            <Link key={run} href={`/runs/${run}`}>
              {shortId(run)}{" "}
            </Link>
          ))}
        </p>
      )}
      {refused > 0 && (
        <>
          <b>{words.cannot(refused)}</b>
          <Counted counts={told.refused} />
        </>
      )}
      {!told.complete && <p>{words.more}</p>}
    </div>
  );
}
