/** The line of an edge: down from its node, past the layers between, down into the next. */
import type { Point } from "./layout";

const ROUND = 10;

export interface EdgePath {
  path: string;
  /** Where its words stand. */
  label: Point;
}

export function edgePath(from: Point, to: Point, bends: readonly Point[] = []): EdgePath {
  const way = bends.length > 1 && from.y > to.y ? [...bends].reverse() : bends;
  const points = [from, ...way, to];
  const corners = points.slice(1).flatMap((point, index) => cornersBetween(points[index] ?? from, point));
  return { path: rounded([from, ...corners]), label: labelAt(from, way[0] ?? to) };
}

/** From one point to the next: down to the middle between them, aside, down again. */
function cornersBetween(from: Point, to: Point): Point[] {
  if (Math.abs(from.x - to.x) < 1) return [to];
  const middle = (from.y + to.y) / 2;
  return [{ x: from.x, y: middle }, { x: to.x, y: middle }, to];
}

/** Over the line where it has left those of its siblings. */
function labelAt(from: Point, next: Point): Point {
  const middle = (from.y + next.y) / 2;
  return { x: next.x, y: middle + 14 };
}

function rounded(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  const parts = [`M ${first.x} ${first.y}`];
  for (const [index, corner] of rest.entries()) {
    const [before, after] = [points[index] ?? first, rest[index + 1]];
    if (!after) parts.push(`L ${corner.x} ${corner.y}`);
    else parts.push(turn(before, corner, after));
  }
  return parts.join(" ");
}

function turn(before: Point, corner: Point, after: Point): string {
  const room = Math.min(ROUND, distance(before, corner) / 2, distance(corner, after) / 2);
  const [start, end] = [towards(corner, before, room), towards(corner, after, room)];
  return `L ${start.x} ${start.y} Q ${corner.x} ${corner.y} ${end.x} ${end.y}`;
}

function distance(one: Point, other: Point): number {
  return Math.hypot(one.x - other.x, one.y - other.y);
}

function towards(from: Point, to: Point, by: number): Point {
  const whole = distance(from, to);
  if (whole === 0) return from;
  return { x: from.x + ((to.x - from.x) * by) / whole, y: from.y + ((to.y - from.y) * by) / whole };
}
