import { useSyncExternalStore } from "react";

const KEY = "tidings.preview";
const listeners = new Set<() => void>();

/** Whether the preview stands beside the form; kept in this browser. */
export function usePreviewShown(): [boolean, (shown: boolean) => void] {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => localStorage.getItem(KEY) !== "hidden",
  );
  const change = (now: boolean) => {
    localStorage.setItem(KEY, now ? "shown" : "hidden");
    for (const listener of listeners) listener();
  };
  return [shown, change];
}
