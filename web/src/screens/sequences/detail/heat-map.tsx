import { type KeyboardEvent, useRef } from "react";
import { text } from "../../../text";
import { cx } from "../../../ui/cx";
import { dayOf } from "../../../ui/times";
import { type Arrow, type Cell, type Heat, LEVELS, levelOf, nextCell } from "../model/heat";
import { hourName } from "../model/summary";
import styles from "./simulate.module.css";

const words = text.sequences.simulate;
const HOURS = Array.from({ length: 24 }, (_, hour) => hour);
const ARROWS: readonly string[] = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];

interface HeatMapProps {
  heat: Heat;
  chosen: Cell | null;
  onChoose: (cell: Cell) => void;
  labels: ReadonlyMap<string, string>;
}

/** Days from left to right, hours from top to bottom; the darker, the more messages. */
export function HeatMap({ heat, chosen, onChoose, labels }: HeatMapProps) {
  const grid = useRef<HTMLDivElement>(null);
  const active = chosen ?? heat.cells[0];
  const onKeyDown = (event: KeyboardEvent) => {
    if (!active || !ARROWS.includes(event.key)) return;
    event.preventDefault();
    const next = nextCell(heat.cells, active, event.key as Arrow);
    onChoose(next);
    grid.current?.querySelector<HTMLElement>(`[data-cell="${next.day}-${next.hour}"]`)?.focus();
  };
  return (
    <div className={styles.heat}>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- its cells take the focus */}
      <div ref={grid} role="group" aria-label={words.heatmap} className={styles.grid} style={{ "--days": heat.days.length } as React.CSSProperties} onKeyDown={onKeyDown}>
        {HOURS.filter((hour) => hour % 3 === 0).map((hour) => (
          <span key={hour} className={styles.hour} style={{ gridRow: hour + 2 }} aria-hidden>
            {hourName(hour)}
          </span>
        ))}
        {heat.days.map((day, place) => (
          <Day key={day} day={day} place={place} />
        ))}
        {heat.cells.map((cell) => (
          <button
            key={`${cell.day}-${cell.hour}`}
            type="button"
            data-cell={`${cell.day}-${cell.hour}`}
            className={cx(styles.cell, cell === active && styles.chosen)}
            data-level={levelOf(cell.count, heat.most)}
            style={{ gridColumn: cell.day + 2, gridRow: cell.hour + 2 }}
            aria-label={words.cell(whenOf(heat, cell), cell.count)}
            aria-pressed={cell === active}
            title={words.cell(whenOf(heat, cell), cell.count)}
            tabIndex={cell === active ? 0 : -1}
            onClick={() => onChoose(cell)}
          />
        ))}
      </div>
      <Legend />
      {active && <Inside heat={heat} cell={active} labels={labels} />}
    </div>
  );
}

/** The first of a month and every seventh day have a name. */
function Day({ day, place }: { day: string; place: number }) {
  return (
    <>
      {place % 7 === 0 && (
        <span className={styles.day} style={{ gridColumn: `${place + 2} / span 7` }} aria-hidden>
          {dayOf(new Date(`${day}T12:00:00`)).replace(/ \d{4}$/, "")}
        </span>
      )}
      <span className={cx(styles.column, place % 7 === 0 && styles.week)} style={{ gridColumn: place + 2 }} aria-hidden />
    </>
  );
}

function whenOf(heat: Heat, { day, hour }: Cell): string {
  return `${dayOf(new Date(`${heat.days[day] ?? ""}T12:00:00`))}, ${hourName(hour)}`;
}

function Legend() {
  return (
    <p className={styles.legend} aria-hidden>
      {words.fewer}
      {Array.from({ length: LEVELS }, (_, level) => (
        <span key={level} data-level={level + 1} />
      ))}
      {words.moreMessages}
    </p>
  );
}

function Inside({ heat, cell, labels }: { heat: Heat; cell: Cell; labels: ReadonlyMap<string, string> }) {
  return (
    <p className={styles.inside} role="status">
      <b>{words.cell(whenOf(heat, cell), cell.count)}</b>
      {[...cell.steps].map(([step, count]) => (
        <span key={step}>
          {count.toLocaleString("en")} × {labels.get(step) ?? step}
        </span>
      ))}
    </p>
  );
}
