import type { ReactNode } from "react";
import { cx } from "./cx";
import styles from "./key-value.module.css";

/** Names and values, one below the other; what is `undefined` or `null` is left out. */
export function KeyValue({ pairs, columns = 1 }: { pairs: readonly (readonly [ReactNode, ReactNode])[]; columns?: 1 | 2 }) {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return (
    <dl className={cx(styles.list, columns === 2 && styles.two)}>
      {shown.map(([name, value], place) => (
        <div key={place} className={styles.pair}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
