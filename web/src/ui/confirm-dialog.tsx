import { type ReactNode, useState } from "react";
import { text } from "../text";
import { Button } from "./button";
import { Dialog } from "./dialog";
import { Field } from "./field";
import { Problem } from "./problem";
import { TextInput } from "./text-input";

interface ConfirmDialogProps {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  /** What will happen, and to how many. */
  about: ReactNode;
  /** The verb on the button: `Delete`, `Send to 4,210`. */
  verb: string;
  danger?: boolean;
  /** For what cannot be undone: the words to type first. */
  typed?: string;
  /** While what is asked for is not complete. */
  disabled?: boolean;
  onConfirm: () => Promise<unknown>;
  children?: ReactNode;
}

/** Asks before something that is seen by others or cannot be undone, and shows what went wrong in place. */
export function ConfirmDialog({ open, onClose, title, about, verb, danger, typed, disabled, onConfirm, children }: ConfirmDialogProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const [words, setWords] = useState("");
  const close = () => {
    setProblem(null);
    setWords("");
    onClose();
  };
  const confirm = async () => {
    setBusy(true);
    setProblem(null);
    try {
      await onConfirm();
      close();
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  const actions = (
    <>
      <Button onClick={close}>{text.common.cancel}</Button>
      <Button
        kind={danger ? "danger" : "primary"}
        busy={busy}
        disabled={Boolean(disabled) || (typed !== undefined && words !== typed)}
        onClick={() => void confirm()}
      >
        {verb}
      </Button>
    </>
  );
  return (
    <Dialog open={open} onClose={close} title={title} about={about} actions={actions}>
      {children}
      {typed !== undefined && (
        <Field label={text.common.typeToConfirm(typed)}>
          <TextInput value={words} onChange={setWords} autoComplete="off" spellCheck={false} />
        </Field>
      )}
      {problem !== null && <Problem error={problem} />}
    </Dialog>
  );
}
