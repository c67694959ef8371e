import { useEffect, useRef, useSyncExternalStore } from "react";
import uPlot, { type AlignedData, type Options } from "uplot";
import "uplot/dist/uPlot.min.css";
import { onThemeChange, themeNow } from "../shell/theme";
import { cx } from "./cx";
import styles from "./plot.module.css";
import { clockTime, count, shortCount } from "./times";
import type { Tone } from "./status";
import statusStyles from "./status.module.css";

export interface Series {
  label: string;
  tone: Tone;
  /** One value for each time. */
  values: readonly number[];
}

export interface PlotProps {
  label: string;
  /** Seconds since 1970. */
  times: readonly number[];
  series: readonly Series[];
  height?: number;
  /** Each series on top of the one before: parts of a whole. */
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
    const made = new uPlot(options(element, series, height, stacked), data, element);
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

/** Stacked series are drawn from the back: each is the sum of itself and those before it. */
export function plotted(times: readonly number[], series: readonly Series[], stacked: boolean): AlignedData {
  const sums = times.map(() => 0);
  const lines = series.map(({ values }) =>
    times.map((_, at) => {
      const value = values[at] ?? 0;
      sums[at] = (sums[at] ?? 0) + value;
      return stacked ? (sums[at] ?? 0) : value;
    }),
  );
  return [[...times], ...(stacked ? lines.toReversed() : lines)];
}

function options(element: HTMLElement, series: readonly Series[], height: number, stacked: boolean): Options {
  const colour = (name: string) => resolve(element, name);
  const drawn = stacked ? series.toReversed() : series;
  const axis = { stroke: colour("--text-muted"), font: `12px ${getComputedStyle(element).fontFamily}`, ticks: { show: false } };
  return {
    width: element.clientWidth,
    height,
    padding: [12, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: { x: { time: true }, y: { range: (_plot, _min, max) => [0, Math.max(max * 1.1, 4)] } },
    axes: [
      { ...axis, grid: { show: false }, space: 80, values: (_plot, at) => at.map((one) => clockTime(new Date(one * 1000))) },
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
        stroke: colour(`--${tone === "quiet" ? "text-faint" : tone}`),
        fill: stacked ? colour(`--${tone === "quiet" ? "bg-active" : `${tone}-soft`}`) : undefined,
        width: 1.5,
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
