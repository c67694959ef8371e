import { useEffect, useState } from "react";
import type { Definition } from "../../../parts/graph/definition";
import { text } from "../../../text";
import { Button } from "../../../ui/button";
import { CodeEditor } from "../../../ui/code-editor";
import { Dialog } from "../../../ui/dialog";
import { Field } from "../../../ui/field";
import { Select } from "../../../ui/select";
import { toast } from "../../../ui/toast";
import { type FileFormat, FileProblem, readFile, writeFile, type WorkflowFile } from "../model/file";
import styles from "./dialogs.module.css";

const words = text.workflows.file;
const FORMATS = [
  { value: "yaml" as const, label: "YAML" },
  { value: "json" as const, label: "JSON" },
];

/** The file of a workflow, to read, copy or keep. */
export function FileView({ file, fill }: { file: WorkflowFile; fill?: boolean }) {
  const [format, setFormat] = useState<FileFormat>("yaml");
  const [written, setWritten] = useState("");
  useEffect(() => {
    let isGone = false;
    void writeFile(file, format).then((one) => !isGone && setWritten(one));
    return () => {
      isGone = true;
    };
  }, [file, format]);
  const copy = () => void navigator.clipboard.writeText(written).then(() => toast(words.copied));
  return (
    <div className={styles.file}>
      <div className={styles.fileBar}>
        <Select small aria-label={words.format} value={format} options={FORMATS} onChange={setFormat} />
        <Button small onClick={copy}>
          {words.copy}
        </Button>
        <Button small onClick={() => download(written, `${file.name || "workflow"}.${format}`)}>
          {words.download}
        </Button>
      </div>
      <CodeEditor value={written} language={format === "json" ? "json" : "liquid"} label={words.text} readOnly maxHeight={fill ? 4000 : 440} />
    </div>
  );
}

function download(content: string, name: string): void {
  const url = URL.createObjectURL(new Blob([content], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

export function CopyOutDialog({ file, onClose }: { file: WorkflowFile; onClose: () => void }) {
  return (
    <Dialog open wide onClose={onClose} title={words.outTitle} about={words.outAbout}>
      <FileView file={file} />
    </Dialog>
  );
}

interface PasteDialogProps {
  name: string;
  onClose: () => void;
  onTake: (definition: Definition) => void;
}

/** A file that takes the place of what is in the editor. */
export function PasteDialog({ name, onClose, onTake }: PasteDialogProps) {
  const [written, setWritten] = useState("");
  const [problem, setProblem] = useState<string>();
  const take = async () => {
    try {
      const file = await readFile(written);
      if (file.name && file.name !== name) toast(words.renamed(file.name));
      onTake(file.definition);
      onClose();
    } catch (error) {
      setProblem(fileProblem(error));
    }
  };
  const actions = (
    <>
      <Button onClick={onClose}>{text.common.cancel}</Button>
      <Button kind="primary" onClick={() => void take()}>
        {words.take}
      </Button>
    </>
  );
  return (
    <Dialog open wide onClose={onClose} title={words.inTitle} about={words.inAbout} actions={actions}>
      <Field label={words.text} hint={text.workflows.fromFileHint} problem={problem}>
        <CodeEditor value={written} language="liquid" minHeight={260} maxHeight={440} onChange={setWritten} />
      </Field>
    </Dialog>
  );
}

export function fileProblem(error: unknown): string {
  if (!(error instanceof FileProblem)) return String(error);
  const line = error.line === undefined ? "" : ` (${words.line(error.line)})`;
  return [words.problems[error.code], error.detail && error.detail !== error.code ? error.detail : ""].filter(Boolean).join(" ") + line;
}
