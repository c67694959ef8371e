import { text } from "../../text";
import { Section } from "../../ui/page";
import { Status, wordsOf } from "../../ui/status";
import { Time } from "../../ui/time";
import { count } from "../../ui/times";
import styles from "./home.module.css";
import type { Overview } from "./overview";

/** Which providers rest and why, and what waits for one that is not there. */
export function Resting({ overview }: { overview: Overview }) {
  const { resting, waiting } = overview;
  if (resting.length === 0 && waiting.length === 0) return <p className={styles.well}>{text.home.allWell}</p>;
  return (
    <>
      {resting.length > 0 && (
        <Section title={text.home.resting} about={text.home.restingAbout}>
          <ul className={styles.rows}>
            {resting.map((one) => (
              <li key={one.provider}>
                <Status state="resting">{one.provider}</Status>
                <span>{one.reason}</span>
                {one.until && (
                  <span className={styles.quiet}>
                    {text.home.until} <Time at={one.until} />
                  </span>
                )}
              </li>
            ))}
          </ul>
        </Section>
      )}
      {waiting.length > 0 && (
        <Section title={text.home.waiting} about={text.home.waitingAbout}>
          <ul className={styles.rows}>
            {waiting.map((one, place) => (
              <li key={place}>
                <Status state="waiting">{one.provider ?? wordsOf(one.channel ?? "")}</Status>
                <span>{one.reason}</span>
                {one.count !== undefined && <span className={styles.quiet}>{count(one.count)}</span>}
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}
