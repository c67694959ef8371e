import { useState } from "react";
import { useLocation } from "wouter";
import { problemElsewhere } from "../../../api/problem";
import { text } from "../../../text";
import { Button } from "../../../ui/button";
import { CodeEditor } from "../../../ui/code-editor";
import { Dialog } from "../../../ui/dialog";
import { Field } from "../../../ui/field";
import { Problem } from "../../../ui/problem";
import { toast } from "../../../ui/toast";
import { triggerWorkflow } from "../api";
import { useSample } from "../editor/sample";
import { ContactChoice } from "../preview/contact-choice";
import styles from "./dialogs.module.css";

const words = text.workflows.test;

interface TestDialogProps {
  id: string;
  name: string;
  version: number;
  /** Whether there are changes that it does not have yet. */
  isChanged: boolean;
  onClose: () => void;
}

/** Starts one execution with the sample data, and shows it. */
export function TestDialog({ id, name, version, isChanged, onClose }: TestDialogProps) {
  const sample = useSample(id);
  const [, navigate] = useLocation();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const start = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const started = await triggerWorkflow(id, { data: sample.data ?? {}, ...(sample.contact ? { contactId: sample.contact.id } : {}) });
      toast(words.started);
      navigate(`/executions/${started.id}`);
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  const actions = (
    <>
      <Button onClick={onClose}>{text.common.cancel}</Button>
      <Button kind="primary" busy={busy} disabled={version === 0 || !sample.data} onClick={() => void start()}>
        {words.start}
      </Button>
    </>
  );
  return (
    <Dialog open onClose={onClose} title={words.title(name)} about={version === 0 ? words.neverPublished : words.about} actions={actions}>
      <div className={styles.stack}>
        {version > 0 && isChanged && <p className={styles.notice}>{words.newestIs(version)}</p>}
        <Field label={words.contact} hint={text.workflows.preview.contactHint}>
          <ContactChoice sample={sample} />
        </Field>
        <Field label={words.data} problem={sample.data ? undefined : text.workflows.preview.notJson}>
          <CodeEditor value={sample.text} language="json" lines={false} minHeight={120} maxHeight={280} onChange={(written) => sample.change({ text: written })} />
        </Field>
        {problem !== null && <Problem error={problemElsewhere(problem, [])} />}
      </div>
    </Dialog>
  );
}
