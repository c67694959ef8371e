import { hasEnded, type Run } from "@tidings/client";
import { useEffect, useState } from "react";
import { useRead } from "../../api/queries";
import { useNow } from "../../ui/time";
import { doneOf, rateOf, type Sample, secondsLeft, withSample } from "./progress";

const EVERY_MS = 2_000;

/** A run, read again while it is open, with its rate and the time left. */
export function useRun(id: string) {
  const [isOpen, setOpen] = useState(true);
  const { data, error, dataUpdatedAt } = useRead("GET /v1/runs/{id}", { path: { id } }, { every: isOpen ? EVERY_MS : undefined });
  const now = useNow();
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  useEffect(() => {
    if (!data) return;
    // eslint-disable-next-line react-hooks/set-state-in-effect -- what it sets comes from the server
    setSamples((before) => withSample(before, { at: dataUpdatedAt, done: doneOf(data.counts) }));
    setOpen(!isOver(data));
  }, [data, dataUpdatedAt]);
  const rate = data && data.counts.queued > 0 && !data.paused ? rateOf(samples, data, now) : undefined;
  return { run: data, error, isOpen, rate, left: data && secondsLeft(data.counts, rate) };
}

/** Ended, with nothing that a provider or a person may still change. */
export function isOver(run: Run): boolean {
  return (hasEnded(run) || run.status === "partial") && run.counts.inDoubt === 0;
}
