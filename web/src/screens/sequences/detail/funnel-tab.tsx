import type { Funnel, FunnelStep, Sequence } from "@tidings/client";
import { Link } from "wouter";
import { useRead } from "../../../api/queries";
import { KindIcon } from "../../../parts/graph/kinds";
import { text } from "../../../text";
import { EmptyState } from "../../../ui/empty-state";
import { Problem } from "../../../ui/problem";
import { type Part, Progress } from "../../../ui/progress";
import { Skeleton } from "../../../ui/skeleton";
import { Tag } from "../../../ui/status";
import { count } from "../../../ui/times";
import { stepSummary } from "../model/summary";
import styles from "./funnel.module.css";

const words = text.sequences.funnel;
const EVERY_MS = 5_000;

/** How far the contacts have come: who waits before each step, and what became of its messages. */
export function FunnelTab({ sequence }: { sequence: Sequence }) {
  const { data, error } = useRead("GET /v1/sequences/{id}/funnel", { path: { id: sequence.id } }, { every: EVERY_MS, keep: true });
  if (error) return <Problem error={error} />;
  if (!data) return <Skeleton lines={6} />;
  if (data.enrolled === 0) return <EmptyState title={words.empty} about={words.emptyAbout} />;
  return (
    <>
      <Figures funnel={data} id={sequence.id} />
      <ol className={styles.steps}>
        {data.steps.map((step) => (
          <StepRow key={step.stepId} step={step} sequence={sequence} enrolled={data.enrolled} />
        ))}
      </ol>
    </>
  );
}

function Figures({ funnel, id }: { funnel: Funnel; id: string }) {
  const at = (status: string) => `/sequences/${id}?tab=enrollments&status=${status}`;
  const figures = [
    [words.enrolled, funnel.enrolled, `/sequences/${id}?tab=enrollments`],
    [words.underWay, funnel.underWay, at("active")],
    [words.completed, funnel.completed, at("completed")],
    [words.failed, funnel.failed, at("completed")],
    [words.cancelled, funnel.cancelled, at("cancelled")],
  ] as const;
  return (
    <ul className={styles.figures}>
      {figures.map(([name, value, href]) => (
        <li key={name}>
          <Link href={href}>
            <span>{name}</span>
            <b>{count(value)}</b>
          </Link>
        </li>
      ))}
    </ul>
  );
}

function StepRow({ step, sequence, enrolled }: { step: FunnelStep; sequence: Sequence; enrolled: number }) {
  const written = [...sequence.steps, ...(sequence.published?.steps ?? [])].find((one) => one.id === step.stepId);
  return (
    <li className={styles.row}>
      <div className={styles.name}>
        <KindIcon type={step.channel} size={15} />
        <span>
          <b>{text.sequences.step.title(step.stepOrder)}</b> <span className={styles.quiet}>{text.sequences.calendar.day(step.dayOffset)}</span>
          {written && <span className={styles.words}>{stepSummary(written)}</span>}
          {!step.published && <Tag>{words.old}</Tag>}
        </span>
      </div>
      <Link href={`/sequences/${sequence.id}?tab=enrollments&stepId=${step.stepId}`} className={styles.waiting}>
        <b>{count(step.waiting)}</b> {words.waiting}
      </Link>
      <div>
        <Progress label={words.bar(step.stepOrder)} total={enrolled} parts={partsOf(step)} />
        {step.ended > 0 && <p className={styles.ended}>{words.ended(step.ended)}</p>}
      </div>
    </li>
  );
}

/** What is not zero, and always what was sent. */
function partsOf(step: FunnelStep): Part[] {
  const parts: Part[] = [
    { label: words.sent, value: step.sent, tone: "good" },
    { label: words.sending, value: step.sending, tone: "info" },
    { label: words.skipped, value: step.skipped, tone: "quiet" },
    { label: words.failed, value: step.failed, tone: "bad" },
    { label: words.inDoubt, value: step.inDoubt, tone: "doubt" },
  ];
  return parts.filter((part, place) => place === 0 || part.value > 0);
}
