import { useSyncExternalStore } from "react";
import { exactTime, relativeTime } from "./times";
import { Tooltip } from "./tooltip";

const EVERY_MS = 10_000;
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function tick(): void {
  now = Date.now();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === undefined) {
    now = Date.now();
    timer = setInterval(tick, EVERY_MS);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The time, which moves every ten seconds for everything that shows it. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

/** When something was or will be: relative, with the exact time in its tooltip. */
export function Time({ at, exact = false }: { at: string | null | undefined; exact?: boolean }) {
  const current = useNow();
  if (!at) return <span aria-hidden>–</span>;
  const date = new Date(at);
  return (
    <Tooltip text={exact ? relativeTime(date, current) : exactTime(date)}>
      <time dateTime={at}>{exact ? exactTime(date) : relativeTime(date, current)}</time>
    </Tooltip>
  );
}
