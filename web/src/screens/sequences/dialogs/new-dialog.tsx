import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../../../api/client";
import { problemAt, problemElsewhere } from "../../../api/problem";
import { invalidate } from "../../../api/queries";
import { text } from "../../../text";
import { Button } from "../../../ui/button";
import { Dialog } from "../../../ui/dialog";
import { Field } from "../../../ui/field";
import { Problem } from "../../../ui/problem";
import { TextInput } from "../../../ui/text-input";
import { useSubmit } from "../../../ui/use-submit";

const words = text.sequences;
const FORM = "new-sequence";

/** Begins a sequence by its name. */
export function NewDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [, navigate] = useLocation();
  const { busy, problem, onSubmit } = useSubmit(async () => {
    const made = await api.sequences.create({ name });
    void invalidate("/v1/sequences");
    navigate(`/sequences/${made.id}`);
  });
  const elsewhere = problemElsewhere(problem, ["name"]);
  const actions = (
    <>
      <Button onClick={onClose}>{text.common.cancel}</Button>
      <Button kind="primary" type="submit" form={FORM} busy={busy} disabled={!name.trim()}>
        {words.create}
      </Button>
    </>
  );
  return (
    <Dialog open onClose={onClose} title={words.create} about={words.newAbout} actions={actions}>
      <form id={FORM} onSubmit={onSubmit}>
        <Field label={words.name} problem={problemAt(problem, "name")}>
          <TextInput autoFocus value={name} onChange={setName} maxLength={200} />
        </Field>
        {elsewhere !== null && <Problem error={elsewhere} />}
      </form>
    </Dialog>
  );
}
