import type { Attempt, ConnectionActivity } from "@tidings/client";
import { Link } from "wouter";
import { text } from "../../text";
import { cx } from "../../ui/cx";
import { Section } from "../../ui/page";
import { Status } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";
import { count, duration } from "../../ui/times";
import { Tooltip } from "../../ui/tooltip";
import { sectionOf } from "../registry";
import styles from "./connections.module.css";

const words = text.connections.detail;

/** What went through it lately: numbers, and below them what did not. */
export function Activity({ activity }: { activity: ConnectionActivity }) {
  return (
    <>
      <dl className={styles.figures}>
        <Figure name={words.sent} value={count(activity.sent)} />
        <Figure name={words.failed} value={count(activity.failed)} look={activity.failed > 0 && styles.bad} />
        <Figure name={words.rate} value={count(Math.round(activity.perMinute * 10) / 10)} />
        <Figure name={words.latency} value={activity.averageSeconds === null ? words.noAnswer : duration(activity.averageSeconds)} />
        <Figure name={words.inDoubt} value={<Doubt count={activity.inDoubt} />} look={activity.inDoubt > 0 && styles.doubt} />
        <Figure name={words.since} value={<Time at={activity.since} />} />
      </dl>
      <Section title={words.errors} about={activity.lastErrors.length ? words.errorsAbout : words.noErrors}>
        {activity.lastErrors.length > 0 && (
          <Table label={words.errors} columns={COLUMNS} rows={activity.lastErrors} rowKey={attemptKey} maxHeight={300} />
        )}
      </Section>
    </>
  );
}

function Figure({ name, value, look }: { name: string; value: React.ReactNode; look?: string | false | undefined }) {
  return (
    <div className={styles.figure}>
      <dt>{name}</dt>
      <dd className={cx(look)}>{value}</dd>
    </div>
  );
}

function Doubt({ count: found }: { count: number }) {
  if (found === 0 || !sectionOf("/in-doubt")) return count(found);
  return (
    <Tooltip text={words.inDoubtAbout}>
      <Link href="/in-doubt">{count(found)}</Link>
    </Tooltip>
  );
}

const COLUMNS: readonly Column<Attempt>[] = [
  { id: "when", title: words.when, width: "110px", cell: (one) => <Time at={one.startedAt} /> },
  { id: "outcome", title: words.outcome, width: "130px", cell: (one) => <Status state={one.outcome} tone="bad" /> },
  { id: "took", title: words.took, width: "80px", align: "end", cell: tookOf },
  {
    id: "error",
    title: words.error,
    cell: (one) => (
      <Tooltip text={one.error}>
        <span>{one.error}</span>
      </Tooltip>
    ),
  },
];

function tookOf(one: Attempt): string {
  return duration(Math.max(0, (Date.parse(one.endedAt) - Date.parse(one.startedAt)) / 1000));
}

function attemptKey(one: Attempt): string {
  return `${one.startedAt}:${one.attempt}:${one.error}`;
}
