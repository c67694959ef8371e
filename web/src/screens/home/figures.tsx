import type { Overview } from "@tidings/client";
import { Link } from "wouter";
import { text } from "../../text";
import { cx } from "../../ui/cx";
import { count, duration } from "../../ui/times";
import { Tooltip } from "../../ui/tooltip";
import { sectionOf } from "../registry";
import styles from "./home.module.css";
import { startOfToday } from "./overview";

const LATE_SECONDS = 60;

interface Figure {
  name: string;
  value: string;
  href: string;
  about?: string;
  look?: "bad" | "doubt" | "warn" | undefined;
}

/** The numbers in one row; what is not zero and should be stands out. */
export function Figures({ overview }: { overview: Overview }) {
  return (
    <ul className={styles.figures}>
      {figuresOf(overview, startOfToday(new Date())).map((figure) => (
        <li key={figure.name}>
          <FigureLink figure={figure} />
        </li>
      ))}
    </ul>
  );
}

function figuresOf(overview: Overview, today: string): Figure[] {
  const since = `since=${encodeURIComponent(today)}`;
  const isLate = overview.lagSeconds >= LATE_SECONDS;
  return [
    { name: text.home.sent, value: count(overview.sentToday), href: `/outbox?status=sent&createdAfter=${encodeURIComponent(today)}` },
    { name: text.home.failed, value: count(overview.failedToday), href: `/errors?${since}`, look: overview.failedToday ? "bad" : undefined },
    { name: text.home.inDoubt, value: count(overview.inDoubt), href: "/in-doubt", look: overview.inDoubt ? "doubt" : undefined },
    { name: text.home.queued, value: count(overview.queued), href: "/outbox?status=queued" },
    {
      name: text.home.lag,
      value: overview.lagSeconds < 1 ? text.home.onTime : duration(overview.lagSeconds),
      href: "/outbox?status=queued",
      about: text.home.lagAbout,
      look: isLate ? "warn" : undefined,
    },
    { name: text.home.executions, value: count(overview.executionsOpen), href: "/executions?status=processing" },
    { name: text.home.runs, value: count(overview.runsOpen), href: "/runs?status=running" },
  ];
}

/** A number is a link where its list is a screen of this page. */
function FigureLink({ figure }: { figure: Figure }) {
  const content = (
    <>
      <span className={styles.name}>{figure.name}</span>
      <span className={cx(styles.value, figure.look && styles[figure.look])}>{figure.value}</span>
    </>
  );
  const isThere = sectionOf(figure.href.split("?")[0] ?? "") !== undefined;
  const shown = isThere ? (
    <Link href={figure.href} className={styles.figure}>
      {content}
    </Link>
  ) : (
    <div className={styles.figure}>{content}</div>
  );
  return figure.about ? <Tooltip text={figure.about}>{shown}</Tooltip> : shown;
}
