import type { ProviderConnection } from "@tidings/client";
import { text } from "../../text";
import { Status, type Tone } from "../../ui/status";
import { Time } from "../../ui/time";
import styles from "./connections.module.css";

const TONES: Readonly<Record<string, Tone>> = { ready: "good", resting: "warn", unserved: "bad", disabled: "quiet" };
const CIRCUIT_TONES: Readonly<Record<string, Tone>> = { closed: "good", open: "warn", halfOpen: "info" };

/** Whether it can be sent through. */
export function ConnectionState({ one }: { one: ProviderConnection }) {
  return (
    <Status state={one.state} tone={TONES[one.state] ?? "quiet"}>
      {text.connections.states[one.state] ?? one.state}
    </Status>
  );
}

/** Whether its calls are held back. */
export function Circuit({ one }: { one: ProviderConnection }) {
  return (
    <Status state={one.circuit} tone={CIRCUIT_TONES[one.circuit] ?? "quiet"}>
      {text.connections.detail.circuitNames[one.circuit] ?? one.circuit}
    </Status>
  );
}

/** Until when it rests, and why; in one line. */
export function Rest({ one }: { one: ProviderConnection }) {
  if (!one.restsUntil && one.circuit === "closed") return null;
  return (
    <span className={styles.rest}>
      {one.restsUntil && (
        <>
          {text.connections.triedAgain} <Time at={one.restsUntil} />
          {one.reason && " · "}
        </>
      )}
      {one.reason}
    </span>
  );
}
