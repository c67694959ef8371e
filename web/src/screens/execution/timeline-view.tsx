import type { Execution, ExecutionPath, LogLine } from "@tidings/client";
import { KindIcon } from "../../parts/graph/kinds";
import { text } from "../../text";
import { cx } from "../../ui/cx";
import { Section } from "../../ui/page";
import { Skeleton } from "../../ui/skeleton";
import { Time, useNow } from "../../ui/time";
import { duration } from "../../ui/times";
import { Tooltip } from "../../ui/tooltip";
import styles from "./execution.module.css";
import { type Happening, timelineOf } from "./timeline";

const words = text.executions;

interface TimelineViewProps {
  execution: Execution;
  log: readonly LogLine[] | undefined;
  path: ExecutionPath | undefined;
  onSelect: (node: string) => void;
}

/** What happened in the order of time; a long time without anything is one line. */
export function TimelineView({ execution, log, path, onSelect }: TimelineViewProps) {
  const now = useNow();
  if (!log) return <Skeleton lines={5} />;
  return (
    <Section title={words.timeline}>
      <ol className={styles.timeline}>
        {timelineOf(execution, log, path, now).map((row) =>
          "gap" in row ? (
            <li key={row.key} className={styles.gap}>
              {words.passed(duration(row.gap))}
            </li>
          ) : (
            <Line key={row.key} happening={row.happening} onSelect={onSelect} />
          ),
        )}
      </ol>
    </Section>
  );
}

function Line({ happening, onSelect }: { happening: Happening; onSelect: (node: string) => void }) {
  const { node, kind, title, about, tone, at, seconds, isComing } = happening;
  return (
    <li className={cx(styles.line, isComing && styles.coming)}>
      <span className={cx(styles.dot, styles[tone])} aria-hidden />
      <div className={styles.what}>
        <p>
          {node && kind && (
            <button type="button" className={styles.node} onClick={() => onSelect(node)}>
              <KindIcon type={kind} size={14} />
              {node}
            </button>
          )}
          <span>{title}</span>
          {seconds !== undefined && seconds >= 0.001 && <span className={styles.quiet}>{duration(seconds)}</span>}
        </p>
        {about && <p className={styles.about}>{about}</p>}
      </div>
      <span className={styles.when}>{isComing ? <Time at={at} /> : <Clock at={at} />}</span>
    </li>
  );
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

/** In a timeline the order of seconds matters more than how long ago. */
function Clock({ at }: { at: string }) {
  const date = new Date(at);
  return (
    <Tooltip text={day.format(date)}>
      <time dateTime={at}>{clock.format(date)}</time>
    </Tooltip>
  );
}
