import type { ReactNode } from "react";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Field } from "../../ui/field";
import { CopyButton } from "../../ui/id";
import { TextInput } from "../../ui/text-input";
import styles from "./people.module.css";

interface OnceDialogProps {
  title: string;
  about: string;
  label: string;
  /** What nobody can read again once this is closed. */
  value: string;
  note?: ReactNode;
  done: string;
  onClose: () => void;
}

/** Shows a secret this once, with a button that copies it. */
export function OnceDialog({ title, about, label, value, note, done, onClose }: OnceDialogProps) {
  const actions = (
    <Button kind="primary" onClick={onClose}>
      {done}
    </Button>
  );
  return (
    <Dialog open onClose={onClose} title={title} about={about} actions={actions}>
      <Field label={label} hint={note}>
        <div className={styles.once}>
          <TextInput readOnly mono value={value} aria-label={label} onFocus={(event) => event.target.select()} />
          <CopyButton value={value} label={text.common.copy} />
        </div>
      </Field>
    </Dialog>
  );
}
