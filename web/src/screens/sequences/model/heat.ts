/** The calendar of a simulation as days by hours. */
import type { SimulatedHour, Simulation } from "@tidings/client";

export interface Cell {
  day: number;
  hour: number;
  count: number;
  /** How many of each step, by the step's name. */
  steps: ReadonlyMap<string, number>;
}

export interface Heat {
  /** ISO dates, every day of the simulated time. */
  days: readonly string[];
  /** Those with messages, by day and then by hour. */
  cells: readonly Cell[];
  most: number;
}

export const LEVELS = 5;

export function heatOf({ calendar, start, end, timeZone }: Pick<Simulation, "calendar" | "start" | "end" | "timeZone">): Heat {
  const days = daysBetween(dateIn(start, timeZone), dateIn(end, timeZone), calendar);
  const places = new Map(days.map((day, place) => [day, place]));
  const cells = new Map<string, Cell & { steps: Map<string, number> }>();
  for (const { day, hour, step, count } of calendar) {
    const key = `${day} ${hour}`;
    const cell = cells.get(key) ?? { day: places.get(day) ?? 0, hour, count: 0, steps: new Map<string, number>() };
    cell.steps.set(step, (cell.steps.get(step) ?? 0) + count);
    cells.set(key, { ...cell, count: cell.count + count });
  }
  const sorted = [...cells.values()].sort((one, other) => one.day - other.day || one.hour - other.hour);
  return { days, cells: sorted, most: Math.max(0, ...sorted.map((cell) => cell.count)) };
}

/** From 1 for the fewest to 5 for the most: by the square root, so that few beside many can be told from none. */
export function levelOf(count: number, most: number): number {
  return Math.max(1, Math.ceil(Math.sqrt(count / most) * LEVELS));
}

export type Arrow = "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown";

/** The nearest cell in the direction of an arrow; the same one where there is none. */
export function nextCell(cells: readonly Cell[], from: Cell, arrow: Arrow): Cell {
  const isAcross = arrow === "ArrowLeft" || arrow === "ArrowRight";
  const sign = arrow === "ArrowRight" || arrow === "ArrowDown" ? 1 : -1;
  const along = (cell: Cell) => sign * (isAcross ? cell.day - from.day : cell.hour - from.hour);
  const aside = (cell: Cell) => Math.abs(isAcross ? cell.hour - from.hour : cell.day - from.day);
  const ahead = cells.filter((cell) => along(cell) > 0);
  return ahead.sort((one, other) => along(one) + 4 * aside(one) - along(other) - 4 * aside(other))[0] ?? from;
}

/** The day in a time zone, as ISO writes it. */
export function dateIn(at: string, timeZone: string): string {
  return new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" }).format(new Date(at));
}

function daysBetween(first: string, last: string, calendar: readonly SimulatedHour[]): string[] {
  const end = [last, ...calendar.map((one) => one.day)].sort().at(-1) ?? last;
  const days: string[] = [];
  for (let at = Date.parse(first); at <= Date.parse(end); at += 86_400_000) days.push(new Date(at).toISOString().slice(0, 10));
  return days;
}
