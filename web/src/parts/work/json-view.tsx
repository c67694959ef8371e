import { CopyButton } from "../../ui/id";
import styles from "./work.module.css";

/** A value as JSON, to read and to copy. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  const json = JSON.stringify(value, null, 2);
  return (
    <div className={styles.json}>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls is reached by keyboard */}
      <pre role="region" aria-label={label} tabIndex={0}>
        {json}
      </pre>
      <CopyButton value={json} />
    </div>
  );
}
