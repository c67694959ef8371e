import { FileUp } from "lucide-react";
import { type DragEvent, useRef, useState } from "react";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { cx } from "../../ui/cx";
import { fileSize } from "./file-size";
import styles from "./import.module.css";

const words = text.importing;

/** A place to drop a file, and a button for everybody else. */
export function ChooseFile({ chosen, onChoose }: { chosen: File | null; onChoose: (file: File) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const take = (files: FileList | null) => {
    const file = files?.[0];
    if (file) onChoose(file);
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files);
  };
  const onDragOver = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  return (
    // eslint-disable-next-line jsx-a11y/no-static-element-interactions -- the button in it does the same by keyboard
    <div className={cx(styles.drop, over && styles.over, chosen && styles.chosen)} onDrop={onDrop} onDragOver={onDragOver} onDragLeave={() => setOver(false)}>
      <FileUp size={18} aria-hidden />
      {chosen ? (
        <p>
          <b>{chosen.name}</b> <span className={styles.quiet}>{fileSize(chosen.size)}</span>
        </p>
      ) : (
        <p className={styles.quiet}>{words.about}</p>
      )}
      <Button kind={chosen ? "plain" : "primary"} onClick={() => input.current?.click()}>
        {chosen ? words.another : words.choose}
      </Button>
      {!chosen && <span className={styles.quiet}>{words.drop}</span>}
      <input
        ref={input}
        type="file"
        hidden
        accept=".csv,.tsv,.txt,.ndjson,.jsonl,text/csv"
        aria-label={words.file}
        onChange={(event) => {
          take(event.target.files);
          event.target.value = "";
        }}
      />
    </div>
  );
}
