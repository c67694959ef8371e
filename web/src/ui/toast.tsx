import { X } from "lucide-react";
import { Toast as Radix } from "radix-ui";
import { useSyncExternalStore } from "react";
import { text } from "../text";
import { cx } from "./cx";
import { IconButton } from "./icon-button";
import styles from "./toast.module.css";

interface Shown {
  id: number;
  title: string;
  detail?: string;
  bad: boolean;
  action?: { label: string; run: () => void };
}

let shown: readonly Shown[] = [];
let last = 0;
const listeners = new Set<() => void>();

function change(next: readonly Shown[]): void {
  shown = next;
  for (const listener of listeners) listener();
}

function dismiss(id: number): void {
  change(shown.filter((one) => one.id !== id));
}

/** Say in the corner that something was done, perhaps with a way to undo it; problems belong where they happened. */
export function toast(title: string, more: Partial<Omit<Shown, "id" | "title">> = {}): void {
  last += 1;
  change([...shown.slice(-2), { id: last, title, bad: false, ...more }]);
}

/** Stands once in the page. */
export function Toaster() {
  const all = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => shown,
  );
  return (
    <Radix.Provider swipeDirection="right" label={text.common.notice} duration={6000}>
      {all.map((one) => (
        <Radix.Root
          key={one.id}
          className={cx(styles.toast, one.bad && styles.bad)}
          type={one.bad ? "foreground" : "background"}
          onOpenChange={(open) => !open && dismiss(one.id)}
        >
          <div>
            <Radix.Title className={styles.title}>{one.title}</Radix.Title>
            {one.detail && <Radix.Description className={styles.detail}>{one.detail}</Radix.Description>}
          </div>
          {one.action && (
            <Radix.Action altText={one.action.label} className={styles.action} onClick={one.action.run}>
              {one.action.label}
            </Radix.Action>
          )}
          <Radix.Close asChild>
            <IconButton label={text.common.close} small>
              <X size={14} aria-hidden />
            </IconButton>
          </Radix.Close>
        </Radix.Root>
      ))}
      <Radix.Viewport className={styles.viewport} />
    </Radix.Provider>
  );
}
