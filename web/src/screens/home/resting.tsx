import type { Overview } from "@tidings/client";
import { text } from "../../text";
import { Section } from "../../ui/page";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";
import styles from "./home.module.css";

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
            {waiting.map((one) => (
              <li key={one}>
                <Status state="waiting" tone="warn">
                  {one}
                </Status>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}
