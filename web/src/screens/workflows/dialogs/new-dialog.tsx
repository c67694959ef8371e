import { useState } from "react";
import { useLocation } from "wouter";
import { problemAt, problemElsewhere } from "../../../api/problem";
import { invalidate } from "../../../api/queries";
import { EMPTY } from "../../../parts/graph/definition";
import { text } from "../../../text";
import { Button } from "../../../ui/button";
import { CodeEditor } from "../../../ui/code-editor";
import { Dialog } from "../../../ui/dialog";
import { Field } from "../../../ui/field";
import { Problem } from "../../../ui/problem";
import { TextInput } from "../../../ui/text-input";
import { createDraft } from "../api";
import { FileProblem, readFile } from "../model/file";
import styles from "./dialogs.module.css";
import { fileProblem } from "./file-dialogs";

const words = text.workflows;

/** Begins a workflow: by a name, or by a file that has one. */
export function NewDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [file, setFile] = useState("");
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [, navigate] = useLocation();
  const begin = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const read = file.trim() ? await readFile(file) : null;
      const made = await createDraft(name || (read?.name ?? ""), description || (read?.description ?? ""), read?.definition ?? EMPTY);
      void invalidate("/v1/workflows");
      navigate(`/workflows/${made.id}/edit`);
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  const actions = (
    <>
      <Button onClick={onClose}>{text.common.cancel}</Button>
      <Button kind="primary" type="submit" form="new-workflow" busy={busy} disabled={!name.trim() && !file.trim()}>
        {words.begin}
      </Button>
    </>
  );
  return (
    <Dialog open onClose={onClose} title={words.create} about={words.newAbout} actions={actions}>
      <form
        id="new-workflow"
        className={styles.stack}
        onSubmit={(event) => {
          event.preventDefault();
          void begin();
        }}
      >
        <Field label={words.name} hint={words.newNameHint} problem={problemAt(problem, "name")}>
          <TextInput mono autoFocus value={name} onChange={setName} spellCheck={false} />
        </Field>
        <Field label={words.newDescription} problem={problemAt(problem, "description")}>
          <TextInput value={description} onChange={setDescription} />
        </Field>
        <Field label={words.fromFile} hint={words.fromFileHint} problem={problem instanceof FileProblem ? fileProblem(problem) : undefined}>
          <CodeEditor value={file} language="liquid" lines={false} minHeight={80} maxHeight={240} onChange={setFile} />
        </Field>
        <Elsewhere problem={problem} />
      </form>
    </Dialog>
  );
}

function Elsewhere({ problem }: { problem: unknown }) {
  const left = problem instanceof FileProblem ? null : problemElsewhere(problem, ["name", "description"]);
  return left === null ? null : <Problem error={left} />;
}
