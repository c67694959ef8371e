import type { ReactNode } from "react";
import styles from "./empty-state.module.css";

interface EmptyStateProps {
  title: string;
  /** What the thing is for. */
  about: ReactNode;
  /** The one next step. */
  action?: ReactNode;
}

/** Stands where a list would be. */
export function EmptyState({ title, about, action }: EmptyStateProps) {
  return (
    <div className={styles.empty}>
      <h2>{title}</h2>
      <p>{about}</p>
      {action && <div className={styles.action}>{action}</div>}
    </div>
  );
}
