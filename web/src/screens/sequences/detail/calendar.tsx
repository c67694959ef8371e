import type { Sequence } from "@tidings/client";
import { Plus, TriangleAlert } from "lucide-react";
import { type DragEvent, useState } from "react";
import { Link } from "wouter";
import { KindIcon } from "../../../parts/graph/kinds";
import { channelName } from "../../../parts/content/channel";
import { text } from "../../../text";
import { cx } from "../../../ui/cx";
import { type Column, columnsOf, hoursOf, type Placed, placed } from "../model/calendar";
import { hourName, stepSummary } from "../model/summary";
import styles from "./calendar.module.css";

const words = text.sequences.calendar;

interface CalendarProps {
  sequence: Sequence;
  allHours: boolean;
  /** Without it, steps stay where they are. */
  onMove: ((id: string, day: number, hour: number | null) => void) | undefined;
}

/** Days from left to right, hours from top to bottom; the first row is the hour at which somebody was enrolled. */
export function Calendar({ sequence, allHours, onMove }: CalendarProps) {
  const steps = placed(sequence.steps, sequence.offsetFrom);
  const columns = columnsOf(steps.map((one) => one.day));
  const rows: (number | null)[] = [null, ...hoursOf(sequence.steps, allHours)];
  const stepsAt = (day: number, hour: number | null) => steps.filter((one) => one.day === day && one.step.sendHour === hour);
  return (
    <div className={styles.scroller}>
      <table className={styles.calendar} aria-label={words.label}>
        <thead>
          <tr>
            <td className={styles.corner} />
            {columns.map((column) => (
              <ColumnHead key={column.kind === "day" ? column.day : `gap-${column.from}`} column={column} isEmpty={column.kind === "day" && !steps.some((one) => one.day === column.day)} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((hour, place) => (
            <tr key={String(hour)} className={cx(hour === null && styles.any)}>
              <th scope="row">{hour === null ? words.anyHour : hourName(hour)}</th>
              {columns.map((column) =>
                column.kind === "gap" ? (
                  place === 0 && <td key={`gap-${column.from}`} rowSpan={rows.length} className={styles.gap} />
                ) : (
                  <Slot key={column.day} sequence={sequence} day={column.day} hour={hour} steps={stepsAt(column.day, hour)} onMove={onMove} />
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ColumnHead({ column, isEmpty }: { column: Column; isEmpty: boolean }) {
  if (column.kind === "gap") {
    return (
      <th scope="col" className={styles.gapHead}>
        <span>{words.gap(column.days)}</span>
      </th>
    );
  }
  return (
    <th scope="col" className={cx(isEmpty && styles.empty)}>
      {words.day(column.day)}
      {column.day === 0 && <span className={styles.about}>{words.enrolled}</span>}
    </th>
  );
}

interface SlotProps {
  sequence: Sequence;
  day: number;
  hour: number | null;
  steps: readonly Placed[];
  onMove: CalendarProps["onMove"];
}

const DRAGGED = "application/x-tidings-step";

/** One hour of one day: what is sent then, and where a step can be dropped or begun. */
function Slot({ sequence, day, hour, steps, onMove }: SlotProps) {
  const [isOver, setOver] = useState(false);
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const id = event.dataTransfer.getData(DRAGGED);
    if (id) onMove?.(id, day, hour);
  };
  const drop = onMove && {
    onDragOver: (event: DragEvent) => {
      event.preventDefault();
      setOver(true);
    },
    onDragLeave: () => setOver(false),
    onDrop,
  };
  const at = `day=${day}${hour === null ? "" : `&hour=${hour}`}`;
  return (
    <td className={cx(isOver && styles.over)} {...drop}>
      {steps.map((one) => (
        <StepCard key={one.step.id} sequence={sequence} placed={one} draggable={onMove !== undefined} />
      ))}
      {onMove && steps.length === 0 && (
        <Link href={`/sequences/${sequence.id}/steps/new?${at}`} tabIndex={-1} className={styles.add} aria-label={words.addHere(words.day(day), hour === null ? words.anyHour : hourName(hour))}>
          <Plus size={14} aria-hidden />
        </Link>
      )}
    </td>
  );
}

function StepCard({ sequence, placed: { step, isLate }, draggable }: { sequence: Sequence; placed: Placed; draggable: boolean }) {
  const count = (sequence.inFlight ?? []).filter((one) => one.stepId === step.id).reduce((sum, one) => sum + one.count, 0);
  return (
    <Link
      href={`/sequences/${sequence.id}/steps/${step.id}`}
      className={styles.step}
      draggable={draggable}
      onDragStart={(event: DragEvent) => event.dataTransfer.setData(DRAGGED, step.id)}
    >
      <span className={styles.kind}>
        <KindIcon type={step.channel} size={14} />
        <span className="visually-hidden">{channelName(step.channel)}</span>
        <b>{step.stepOrder}</b>
        {isLate && (
          <span title={words.rightAfter} className={styles.late}>
            <TriangleAlert size={13} aria-label={words.rightAfter} />
          </span>
        )}
        {count > 0 && <span className={styles.waiting}>{`${count.toLocaleString("en")} ${text.sequences.funnel.waiting}`}</span>}
      </span>
      <span className={styles.words}>{stepSummary(step)}</span>
    </Link>
  );
}
