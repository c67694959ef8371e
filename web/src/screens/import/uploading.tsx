import { text } from "../../text";
import { Button } from "../../ui/button";
import { Section } from "../../ui/page";
import { fileSize } from "./file-size";
import styles from "./import.module.css";

const words = text.importing;

export interface Sent {
  sent: number;
  total: number;
}

/** How much of the file is sent; its lines are stored while it is read. */
export function Uploading({ sent: { sent, total }, onStop }: { sent: Sent; onStop: () => void }) {
  const isAllSent = sent >= total;
  return (
    <Section title={isAllSent ? words.storing : words.uploading} actions={<Button onClick={onStop}>{words.stop}</Button>}>
      <div className={styles.sending} aria-live="polite">
        <progress max={total} value={Math.min(sent, total)} aria-label={words.uploading} />
        <span className="numbers">{words.sent(fileSize(Math.min(sent, total)), fileSize(total))}</span>
      </div>
    </Section>
  );
}
