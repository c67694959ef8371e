import type { ItemDetail } from "@tidings/client";
import { cx } from "../../ui/cx";
import { Time } from "../../ui/time";
import { duration } from "../../ui/times";
import { text } from "../../text";
import styles from "./message.module.css";
import { triedOf } from "./tried";

/** Every attempt and every decision about one message. */
export function TriedList({ item }: { item: ItemDetail }) {
  return (
    <ol className={styles.tried}>
      {triedOf(item).map((one) => (
        <li key={one.key}>
          <span className={cx(styles.dot, styles[one.tone])} aria-hidden />
          <div>
            <p>
              {one.title}
              {one.seconds !== undefined && <span className={styles.quiet}> {text.messages.took(duration(one.seconds))}</span>}
            </p>
            {one.about && <p className={styles.quiet}>{one.about}</p>}
          </div>
          <span className={styles.when}>
            <Time at={one.at} />
          </span>
        </li>
      ))}
    </ol>
  );
}
