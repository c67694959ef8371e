import { useEffect, useRef, useSyncExternalStore } from "react";
import uPlot, { type Options } from "uplot";
import "uplot/dist/uPlot.min.css";
import { onThemeChange, themeNow } from "../shell/theme";
import { cx } from "./cx";
import styles from "./plot.module.css";
import { plotted, type Series } from "./plotted";
import { clockTime, count, shortCount } from "./times";
import type { Tone } from "./status";
import statusStyles from "./status.module.css";

export type { Series } from "./plotted";

export interface PlotProps {
  label: string;
  /** Seconds since 1970. */
  times: readonly number[];
  series: readonly Series[];
  height?: number;
  /** Bars, each series on top of the one before: parts of a whole. */
  stacked?: boolean;
}

/** The plot itself, on uPlot. */
export default function PlotView({ label, times, series, height = 200, stacked = false }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const theme = useSyncExternalStore(onThemeChange, themeNow);
  const names = series.map((one) => `${one.label}:${one.tone}`).join("|");
  const data = plotted(times, series, stacked);

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const made = new uPlot(options(element, times, series, height, stacked), data, element);
    plot.current = made;
    const sizes = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    sizes.observe(element);
    return () => {
      sizes.disconnect();
      made.destroy();
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps -- new data is set below, without a new plot
  }, [names, height, stacked, theme]);

  useEffect(() => {
    plot.current?.setData(data);
    // eslint-disable-next-line react-hooks/exhaustive-deps -- made of these
  }, [times, series, stacked]);

  return (
    <figure aria-label={label} className={styles.plot}>
      <div ref={place} style={{ height }} aria-hidden />
      <figcaption>
        <ul className={styles.legend}>
          {series.map((one) => (
            <li key={one.label}>
              <span className={cx(styles.swatch, statusStyles[one.tone])} aria-hidden />
              {one.label} <span className="numbers">{count(one.values.reduce((sum, value) => sum + value, 0))}</span>
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}

const bars = uPlot.paths.bars?.({ size: [0.75, 28] });

/** Half a bar stands before the first time, and half a bar behind the last. */
function halfStep(times: readonly number[]): number {
  return ((times[1] ?? 60) - (times[0] ?? 0)) / 2;
}

function tokenOf(tone: Tone): string {
  return `--${tone === "quiet" ? "text-faint" : tone}`;
}

function options(element: HTMLElement, times: readonly number[], series: readonly Series[], height: number, stacked: boolean): Options {
  const colour = (name: string) => resolve(element, name);
  const drawn = stacked ? series.toReversed() : series;
  const axis = { stroke: colour("--text-muted"), font: `12px ${getComputedStyle(element).fontFamily}`, ticks: { show: false } };
  return {
    width: element.clientWidth,
    height,
    padding: [12, 20, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: { x: { time: true, range: (_plot, from, to) => (stacked ? [from - halfStep(times), to + halfStep(times)] : [from, to]) }, y: { range: (_plot, _min, max) => [0, Math.max(max * 1.1, 4)] } },
    axes: [
      { ...axis, grid: { show: false }, space: 80, size: 28, values: (_plot, at) => at.map((one) => clockTime(new Date(one * 1000))) },
      {
        ...axis,
        size: 44,
        grid: { stroke: colour("--border"), width: 1 },
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6],
        values: (_plot, values) => values.map(shortCount),
      },
    ],
    series: [
      {},
      ...drawn.map(({ label, tone }) => ({
        label,
        stroke: colour(tokenOf(tone)),
        ...(stacked ? { fill: colour(tokenOf(tone)), paths: bars, width: 0 } : { width: 1.5 }),
        points: { show: false },
      })),
    ],
  };
}

/** The colour that a custom property has here and now; a canvas knows no properties. */
function resolve(element: HTMLElement, property: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${property})`;
  element.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
