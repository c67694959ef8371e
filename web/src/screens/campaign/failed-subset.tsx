import type { GivenRetry, Retry, Run } from "@tidings/client";
import { useQuery } from "@tanstack/react-query";
import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { api, caller } from "../../api/client";
import { invalidate } from "../../api/queries";
import { useMay } from "../../api/session";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { ConfirmDialog } from "../../ui/confirm-dialog";
import { Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { count } from "../../ui/times";
import { toast } from "../../ui/toast";
import styles from "./campaign.module.css";
import { isOver } from "./run-numbers";

const words = text.campaigns.run;
type Where = NonNullable<GivenRetry["where"]>;

interface Asked {
  where: Where;
  count: number;
}

/** What failed by its reason, each with a way to try exactly that again. */
export function FailedSubset({ run }: { run: Run }) {
  const mayOperate = useMay("operate");
  const [asked, setAsked] = useState<Asked | null>(null);
  const { data, error } = useFailures(run, mayOperate);
  if (!mayOperate) return null;
  const mayRetry = isOver(run) || run.status === "running";
  const all = data && data.count > 0 && mayRetry && (
    <Button small icon={<RotateCcw size={14} aria-hidden />} onClick={() => setAsked({ where: {}, count: data.count })}>
      {words.retryAll(data.count)}
    </Button>
  );
  return (
    <Section title={words.failedTitle} about={words.failedAbout} actions={all}>
      {error && <Problem error={error} />}
      {data && <Reasons found={data} onRetry={mayRetry ? setAsked : null} />}
      {asked && <RetryDialog run={run} asked={asked} onClose={() => setAsked(null)} />}
    </Section>
  );
}

/** A dry run of trying everything again says what failed, by error. */
function useFailures(run: Run, enabled: boolean) {
  return useQuery({
    queryKey: [caller.workspace, "v1", "runs", run.id, "failures", run.counts.failed],
    queryFn: ({ signal }) => api.runs.retry(run.id, { dryRun: true }, { signal }),
    enabled,
  });
}

function Reasons({ found, onRetry }: { found: Retry; onRetry: ((asked: Asked) => void) | null }) {
  const reasons = Object.entries(found.byError).sort(([, one], [, other]) => other - one);
  return (
    <>
      {reasons.length === 0 && <p className={styles.quiet}>{words.none}</p>}
      {reasons.length > 0 && (
        <table className={styles.reasons}>
          <thead>
            <tr>
              <th scope="col">{words.reason}</th>
              <th scope="col">{words.count}</th>
              <td />
            </tr>
          </thead>
          <tbody>
            {reasons.map(([reason, number]) => (
              <tr key={reason}>
                <td>{reason}</td>
                <td className="numbers">{count(number)}</td>
                <td>
                  {onRetry && (
                    <Button small onClick={() => onRetry({ where: { error: reason }, count: number })}>
                      {words.retryThese}
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {found.retriedBefore > 0 && <p className={styles.quiet}>{words.triedBefore(found.retriedBefore)}</p>}
    </>
  );
}

function RetryDialog({ run, asked, onClose }: { run: Run; asked: Asked; onClose: () => void }) {
  const retry = async () => {
    await api.runs.retry(run.id, { where: asked.where });
    toast(words.retried);
    await invalidate("/v1/runs");
  };
  return (
    <ConfirmDialog open onClose={onClose} title={words.retryTitle(asked.count)} about={words.retryAbout} verb={words.retryAll(asked.count)} onConfirm={retry} />
  );
}
