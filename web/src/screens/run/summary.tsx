import type { Run } from "@tidings/client";
import { Link } from "wouter";
import { Note } from "../../parts/work/note";
import { secondsOf } from "../../parts/work/spans";
import { text } from "../../text";
import { shortId } from "../../ui/id";
import { KeyValue } from "../../ui/key-value";
import { Progress } from "../../ui/progress";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";
import { count, duration } from "../../ui/times";
import { doneOf, partsOf } from "./progress";
import styles from "./run.module.css";

const words = text.runs;

interface SummaryProps {
  run: Run;
  rate: number | undefined;
  left: number | undefined;
}

/** How far it is, in numbers that add up, how fast, and how long it still takes. */
export function Summary({ run, rate, left }: SummaryProps) {
  const { counts } = run;
  return (
    <div className={styles.summary}>
      {run.waiting && <Note tone="warn">{run.waiting}</Note>}
      {counts.inDoubt > 0 && (
        <Note tone="doubt">
          <span>
            {count(counts.inDoubt)} {text.work.statuses.inDoubt.toLowerCase()}
          </span>
          {run.inDoubtSince && <Time at={run.inDoubtSince} />}
          <Link href={`/in-doubt?runId=${run.id}`}>{words.toDoubt}</Link>
        </Note>
      )}
      {run.planning && <Note tone="info">{words.planning}</Note>}
      <Adding run={run} />
      <Progress label={words.progress} total={counts.planned} parts={partsOf(counts)} legend={false} />
      <KeyValue columns={2} pairs={pairsOf(run, rate, left)} />
    </div>
  );
}

/** The counts as a sum: planned = sent + failed + skipped + in doubt + waiting. */
function Adding({ run: { counts } }: { run: Run }) {
  const terms = [...partsOf(counts), { label: words.queued, value: counts.queued, tone: "info" as const }];
  const share = counts.planned ? Math.floor((100 * doneOf(counts)) / counts.planned) : 0;
  return (
    <p className={styles.adding}>
      <b>{share} %</b>
      <span>
        <strong>{count(counts.planned)}</strong> {words.addsUp} =
      </span>
      {terms.map((term, place) => (
        <span key={term.label} className={styles.term}>
          {place > 0 && "+ "}
          <Status state={term.label} tone={term.tone}>
            <strong>{count(term.value)}</strong> {term.label.toLowerCase()}
          </Status>
        </span>
      ))}
    </p>
  );
}

function pairsOf(run: Run, rate: number | undefined, left: number | undefined) {
  const took = secondsOf(run.startedAt, run.completedAt);
  const limit = run.rate === null ? undefined : words.atMost(run.rate);
  const speed = rate === undefined ? undefined : words.perMinute(Math.round(rate));
  return [
    [words.rate, [speed, limit].filter(Boolean).join(", ") || undefined],
    [words.left, left === undefined || run.counts.queued === 0 ? undefined : duration(Math.max(1, left))],
    [words.started, run.startedAt && <Time at={run.startedAt} exact />],
    [words.completed, run.completedAt && <Time at={run.completedAt} exact />],
    [words.took, took === undefined ? undefined : duration(took)],
    [words.scheduled, run.scheduledFor && <Time at={run.scheduledFor} exact />],
    [words.lateness, run.maxLateness],
    [text.work.channel, `${text.work.channels[run.channel]} · ${run.provider}`],
    [text.work.campaign, <Link key="campaign" href={`/campaigns/${run.campaignId}`}>{run.campaignName ?? shortId(run.campaignId)}</Link>],
    [words.retryOf, run.retryOf && <Link href={`/runs/${run.retryOf}`}>{shortId(run.retryOf)}</Link>],
    [words.key, <code key="key">{run.idempotencyKey}</code>],
  ] as const;
}
