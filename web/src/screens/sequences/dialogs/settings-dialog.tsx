import type { Sequence } from "@tidings/client";
import { useState } from "react";
import { problemAt, problemElsewhere } from "../../../api/problem";
import { text } from "../../../text";
import { Button } from "../../../ui/button";
import { Checkbox } from "../../../ui/checkbox";
import { Dialog } from "../../../ui/dialog";
import { Field } from "../../../ui/field";
import { Problem } from "../../../ui/problem";
import { Select } from "../../../ui/select";
import { TextInput } from "../../../ui/text-input";
import { toast } from "../../../ui/toast";
import { useSubmit } from "../../../ui/use-submit";
import { updateSequence } from "../api";
import styles from "../sequences.module.css";

const words = text.sequences;
const form = words.settingsForm;
const FORM = "sequence-settings";
const optionsOf = <Value extends string>(labels: Readonly<Record<Value, string>>) =>
  (Object.entries(labels) as [Value, string][]).map(([value, label]) => ({ value, label }));

/** The name, and what holds for every step. */
export function SettingsDialog({ sequence, onClose }: { sequence: Sequence; onClose: () => void }) {
  const { id, name, offsetFrom, timezone, onStepFailure, allowReentry } = sequence;
  const [given, setGiven] = useState({ name, offsetFrom, timezone, onStepFailure, allowReentry });
  const change = (some: Partial<typeof given>) => setGiven({ ...given, ...some });
  const { busy, problem, onSubmit } = useSubmit(async () => {
    await updateSequence(id, given);
    toast(text.common.saved);
    onClose();
  });
  const elsewhere = problemElsewhere(problem, ["name", "timezone"]);
  const actions = (
    <>
      <Button onClick={onClose}>{text.common.cancel}</Button>
      <Button kind="primary" type="submit" form={FORM} busy={busy} disabled={!given.name.trim()}>
        {text.common.save}
      </Button>
    </>
  );
  return (
    <Dialog open onClose={onClose} title={words.settings} about={form.about} actions={actions}>
      <form id={FORM} onSubmit={onSubmit} className={styles.stack}>
        <Field label={words.name} problem={problemAt(problem, "name")}>
          <TextInput value={given.name} onChange={(next) => change({ name: next })} maxLength={200} />
        </Field>
        <Field label={form.timezone} hint={form.timezoneHint} problem={problemAt(problem, "timezone")}>
          <TextInput value={given.timezone} onChange={(next) => change({ timezone: next })} spellCheck={false} />
        </Field>
        <Field label={form.offsetFrom}>
          <Select value={given.offsetFrom} options={optionsOf(form.offsets)} onChange={(next) => change({ offsetFrom: next })} />
        </Field>
        <Field label={form.onStepFailure}>
          <Select value={given.onStepFailure} options={optionsOf(form.failures)} onChange={(next) => change({ onStepFailure: next })} />
        </Field>
        <Checkbox checked={given.allowReentry} onChange={(next) => change({ allowReentry: next })}>
          {form.allowReentry}
        </Checkbox>
        {elsewhere !== null && <Problem error={elsewhere} />}
      </form>
    </Dialog>
  );
}
