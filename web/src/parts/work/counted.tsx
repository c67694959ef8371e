import { count } from "../../ui/times";
import styles from "./work.module.css";

/** How many of each, the most first. */
export function Counted({ counts }: { counts: Readonly<Record<string, number>> }) {
  const sorted = Object.entries(counts).sort(([, one], [, other]) => other - one);
  return (
    <ul className={styles.counted}>
      {sorted.map(([words, number]) => (
        <li key={words}>
          <b>{count(number)}</b>
          <span>{words}</span>
        </li>
      ))}
    </ul>
  );
}
