import { useState } from "react";
import { rateOf, type Sample, withSample } from "./run-numbers";

/** How many a minute a count rises by, over the last half minute that it was looked at. */
export function useRate(done: number, at: number): number | null {
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  const next = at ? withSample(samples, { at, done }) : samples;
  if (next !== samples) setSamples(next);
  return rateOf(next);
}
