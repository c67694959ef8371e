import type { ReactNode } from "react";
import styles from "./split.module.css";

/** Two panes beside each other, below each other where there is no room. */
export function Split({ main, side, sideWidth = 360 }: { main: ReactNode; side: ReactNode; sideWidth?: number }) {
  return (
    <div className={styles.split} style={{ "--side": `${sideWidth}px` } as React.CSSProperties}>
      <div className={styles.pane}>{main}</div>
      <div className={styles.side}>{side}</div>
    </div>
  );
}
