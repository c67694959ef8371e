import type { Run } from "@tidings/client";
import { Download, Pause, Play, Square } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { api } from "../../api/client";
import { invalidate, useRead } from "../../api/queries";
import { useMay } from "../../api/session";
import { text } from "../../text";
import { Button, ButtonLink } from "../../ui/button";
import { ConfirmDialog } from "../../ui/confirm-dialog";
import { Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Progress } from "../../ui/progress";
import { saveFile } from "../../ui/save-file";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";
import { duration } from "../../ui/times";
import styles from "./campaign.module.css";
import { FailedSubset } from "./failed-subset";
import { doneOf, isOver, partsOf, secondsLeft } from "./run-numbers";
import { useRate } from "./use-rate";

const words = text.campaigns.run;
const EVERY_MS = 1_500;

/** A run as it goes: how far it is, how fast, how long yet, and what can be done about it. */
export function RunPanel({ id }: { id: string }) {
  const [live, setLive] = useState(true);
  const { data: run, error, refetch, dataUpdatedAt } = useRead("GET /v1/runs/{id}", { path: { id } }, { every: live ? EVERY_MS : undefined });
  const perMinute = useRate(run ? doneOf(run.counts) : 0, dataUpdatedAt);
  if (error && !run) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!run) return null;
  if (live === isOver(run)) setLive(!isOver(run));
  return (
    <>
      <Section title={words.title} actions={<Actions run={run} />}>
        <div className={styles.run} aria-live="polite">
          <p className={styles.line}>
            <Status state={run.paused ? "paused" : run.status}>{run.statusText}</Status>
            <span className="numbers">{words.of(doneOf(run.counts), run.counts.planned)}</span>
            <Pace run={run} perMinute={perMinute} />
          </p>
          <Progress label={words.title} total={run.counts.planned} parts={partsOf(run.counts)} />
          <p className={styles.line}>
            {run.counts.skipped > 0 && <Link href={`/runs/${run.id}?status=skipped`}>{words.skipped}</Link>}
          </p>
        </div>
      </Section>
      {run.counts.failed > 0 && <FailedSubset run={run} />}
    </>
  );
}

function Pace({ run, perMinute }: { run: Run; perMinute: number | null }) {
  if (run.completedAt && run.startedAt) {
    return <span>{words.took(duration((Date.parse(run.completedAt) - Date.parse(run.startedAt)) / 1000))}</span>;
  }
  if (!run.startedAt && run.scheduledFor) {
    return (
      <span>
        {words.begins} <Time at={run.scheduledFor} />
      </span>
    );
  }
  const left = perMinute ? secondsLeft(run.counts, perMinute) : null;
  return (
    <>
      {perMinute !== null && perMinute > 0 && <span className="numbers">{words.rate(perMinute)}</span>}
      {left !== null && left >= 2 && !run.paused && <span className="numbers">{words.left(duration(left))}</span>}
    </>
  );
}

function Actions({ run }: { run: Run }) {
  const mayOperate = useMay("operate");
  const [problem, setProblem] = useState<unknown>(null);
  const [asking, setAsking] = useState(false);
  const act = async (what: () => Promise<unknown>) => {
    setProblem(null);
    try {
      await what();
      await invalidate("/v1/runs");
    } catch (error) {
      setProblem(error);
    }
  };
  const download = async () => {
    const answer = await api.runs.export(run.id);
    saveFile(`run-${run.id}.csv`, await answer.blob(), "text/csv");
  };
  const mayStop = mayOperate && !isOver(run) && !run.cancelled;
  return (
    <>
      {problem !== null && <Problem error={problem} />}
      {mayStop && !run.paused && (
        <Button small icon={<Pause size={14} aria-hidden />} onClick={() => void act(() => api.runs.pause(run.id))}>
          {words.pause}
        </Button>
      )}
      {mayStop && run.paused && (
        <Button small kind="primary" icon={<Play size={14} aria-hidden />} onClick={() => void act(() => api.runs.resume(run.id))}>
          {words.resume}
        </Button>
      )}
      {mayStop && (
        <Button small icon={<Square size={14} aria-hidden />} onClick={() => setAsking(true)}>
          {words.cancel}
        </Button>
      )}
      {isOver(run) && (
        <Button small icon={<Download size={14} aria-hidden />} onClick={() => void act(download)}>
          {words.export}
        </Button>
      )}
      <ButtonLink small href={`/runs/${run.id}`}>
        {words.open}
      </ButtonLink>
      <ConfirmDialog
        open={asking}
        onClose={() => setAsking(false)}
        title={words.cancelTitle}
        about={words.cancelAbout(run.counts.queued)}
        verb={words.cancelVerb}
        danger
        onConfirm={async () => {
          await api.runs.cancel(run.id);
          await invalidate("/v1/runs");
        }}
      />
    </>
  );
}
