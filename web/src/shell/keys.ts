/** Keys that act wherever the focus is, except where somebody types: `?`, `/`, `g h`, `Mod+k`. */
import { useEffect, useRef, useSyncExternalStore } from "react";

export interface Shortcut {
  keys: string;
  label: string;
  run: () => void;
}

const SEQUENCE_MS = 1200;
let known: readonly (readonly Shortcut[])[] = [];
const listeners = new Set<() => void>();

function change(next: typeof known): void {
  known = next;
  for (const listener of listeners) listener();
}

/** Have these keys while the component is there; `?` lists those of screens. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const latest = useRef(shortcuts);
  useEffect(() => {
    latest.current = shortcuts;
  });
  const names = shortcuts.map(({ keys, label }) => `${keys}\t${label}`).join("\n");
  useEffect(() => {
    const mine = names
      .split("\n")
      .filter(Boolean)
      .map((line, place) => {
        const [keys = "", label = ""] = line.split("\t");
        return { keys, label, run: () => latest.current[place]?.run() };
      });
    change([...known, mine]);
    return () => change(known.filter((one) => one !== mine));
  }, [names]);
}

/** The keys of the screens that are shown, for the list of them. */
export function useKnownShortcuts(): readonly (readonly Shortcut[])[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => known,
  );
}

/** Listen; called once when the page starts. */
export function listenForKeys(): void {
  let begun = "";
  let begunAt = 0;
  window.addEventListener("keydown", (event) => {
    const key = nameOf(event);
    if (event.defaultPrevented || !key || (isTyping(event.target) && !key.startsWith("Mod+"))) return;
    const sequence = begun && event.timeStamp - begunAt < SEQUENCE_MS ? `${begun} ${key}` : key;
    const found = lookUp(sequence) ?? lookUp(key);
    begun = found ? "" : key;
    begunAt = event.timeStamp;
    if (!found) return;
    event.preventDefault();
    found.run();
  });
}

function lookUp(keys: string): Shortcut | undefined {
  return known.flat().findLast((one) => one.keys === keys);
}

/** `Mod+k` for Ctrl or Cmd; `?` whatever has to be held for it. */
export function nameOf(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">): string {
  if (event.altKey || ["Shift", "Control", "Meta", "Alt"].includes(event.key)) return "";
  return event.ctrlKey || event.metaKey ? `Mod+${event.key.length === 1 ? event.key.toLowerCase() : event.key}` : event.key;
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest("[role='dialog'], [role='menu']")) return true;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}
