import type { ReactNode } from "react";
import { cx } from "../../ui/cx";
import styles from "./work.module.css";

/** A line that should be read before the rest: why something waits, what hinders it. */
export function Note({ tone, children }: { tone: "info" | "warn" | "bad" | "doubt"; children: ReactNode }) {
  return (
    <div role="status" className={cx(styles.note, styles[tone])}>
      {children}
    </div>
  );
}
