import type { AlignedData } from "uplot";
import type { Tone } from "./status";

export interface Series {
  label: string;
  tone: Tone;
  /** One value for each time. */
  values: readonly number[];
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
