/** What a screen adds to the command palette while it is shown. */
import { useEffect, useRef, useSyncExternalStore } from "react";

export interface Command {
  id: string;
  title: string;
  run: () => void;
}

let offered: readonly Command[] = [];
const listeners = new Set<() => void>();

function change(next: readonly Command[]): void {
  offered = next;
  for (const listener of listeners) listener();
}

/** Offer commands in the palette while the component is there. */
export function useCommands(commands: readonly Command[]): void {
  const latest = useRef(commands);
  useEffect(() => {
    latest.current = commands;
  });
  const names = JSON.stringify(commands.map(({ id, title }) => [id, title]));
  useEffect(() => {
    const mine = (JSON.parse(names) as [string, string][]).map(([id, title], place) => ({
      id,
      title,
      run: () => latest.current[place]?.run(),
    }));
    change([...offered, ...mine]);
    return () => change(offered.filter((one) => !mine.includes(one)));
  }, [names]);
}

export function useOfferedCommands(): readonly Command[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => offered,
  );
}
