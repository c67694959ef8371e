import { useEffect, useState } from "react";
import { text } from "../text";
import styles from "./skeleton.module.css";

const PATIENCE_MS = 150;

/** Whether something has been loading for so long that the reader should see it. */
export function useLate(isLoading: boolean): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    if (!isLoading) return;
    const timer = setTimeout(() => setLate(true), PATIENCE_MS);
    return () => {
      clearTimeout(timer);
      setLate(false);
    };
  }, [isLoading]);
  return isLoading && late;
}

/** Grey lines in the place of what loads; nothing at all for the first 150 ms. */
export function Skeleton({ lines = 3, height = 14 }: { lines?: number; height?: number }) {
  const late = useLate(true);
  if (!late) return null;
  return (
    <div className={styles.skeleton} role="status" aria-label={text.common.loading}>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} className={styles.line} style={{ height, width: `${90 - ((line * 17) % 40)}%` }} />
      ))}
    </div>
  );
}
