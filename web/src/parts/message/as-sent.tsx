import type { ItemDetail } from "@tidings/client";
import { text } from "../../text";
import { JsonView } from "../work/json-view";
import styles from "./message.module.css";
import { SentMessage } from "./sent-message";

const words = text.messages;

/** What its provider got, as a reader sees it, and all of it as JSON. */
export function AsSent({ item }: { item: ItemDetail }) {
  if (!item.payload) return <p className={styles.quiet}>{words.nothingRendered}</p>;
  return (
    <>
      <SentMessage channel={item.channel} recipient={item.recipient} payload={item.payload} />
      {item.channel !== "function" && (
        <details className={styles.whole}>
          <summary>{words.whole}</summary>
          <JsonView value={item.payload} label={words.whole} />
        </details>
      )}
    </>
  );
}
