import styles from "./progress.module.css";
import type { Tone } from "./status";
import statusStyles from "./status.module.css";
import { count } from "./times";

export interface Part {
  label: string;
  value: number;
  tone: Tone;
}

interface ProgressProps {
  label: string;
  total: number;
  parts: readonly Part[];
  /** Whether the numbers stand below, and not elsewhere. */
  legend?: boolean;
}

/** How far something is: its parts beside each other in one bar, with their numbers below. */
export function Progress({ label, total, parts, legend = true }: ProgressProps) {
  const done = parts.reduce((sum, part) => sum + part.value, 0);
  return (
    <div className={styles.progress}>
      <div
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={Math.max(total, 1)}
        aria-valuenow={Math.min(done, Math.max(total, 1))}
        className={styles.bar}
      >
        {parts.map((part) => (
          <span
            key={part.label}
            className={`${styles.part ?? ""} ${statusStyles[part.tone] ?? ""}`}
            style={{ width: total ? `${(100 * part.value) / total}%` : 0 }}
          />
        ))}
      </div>
      {legend && (
        <ul className={styles.legend}>
          {parts.map((part) => (
            <li key={part.label}>
              <span className={`${styles.dot ?? ""} ${statusStyles[part.tone] ?? ""}`} aria-hidden />
              {part.label} <span className="numbers">{count(part.value)}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
