import { useState } from "react";
import { asProblem } from "../../../api/problem";
import type { Definition } from "../../../parts/graph/definition";
import { text } from "../../../text";
import { Button } from "../../../ui/button";
import { CodeEditor } from "../../../ui/code-editor";
import { Dialog } from "../../../ui/dialog";
import { Field } from "../../../ui/field";
import { Problem } from "../../../ui/problem";
import { Select } from "../../../ui/select";
import { TextInput } from "../../../ui/text-input";
import { type Simulation, simulateWorkflow } from "../api";
import { useSample } from "../editor/sample";
import styles from "./dialogs.module.css";
import { SimulationView } from "./simulation-view";

const words = text.workflows.simulate;

interface SimulateDialogProps {
  id: string;
  name: string;
  version: number;
  /** What is being written; without it, what is published. */
  definition?: Definition;
  onClose: () => void;
}

type Whom = "data" | "everyone" | "tag";

/** The days to come, run on the real engine without anything leaving. */
export function SimulateDialog({ id, name, version, definition, onClose }: SimulateDialogProps) {
  const sample = useSample(id);
  const [days, setDays] = useState("30");
  const [whom, setWhom] = useState<Whom>("data");
  const [tag, setTag] = useState("");
  const [result, setResult] = useState<Simulation | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const people = whom === "data" ? {} : { contacts: whom === "tag" ? { tag } : { all: true } };
      setResult(await simulateWorkflow(id, { days: Number(days), data: [sample.data ?? {}], ...people, ...(definition ? { definition } : {}) }));
    } catch (error) {
      setProblem(asProblem(error));
    } finally {
      setBusy(false);
    }
  };
  const options = (["data", "everyone", "tag"] as const).map((value) => ({ value, label: words.whom[value] }));
  const actions = (
    <>
      <Button onClick={onClose}>{text.common.close}</Button>
      <Button kind="primary" busy={busy} disabled={version === 0 || !sample.data || (whom === "tag" && !tag)} onClick={() => void run()}>
        {busy ? words.running : words.run}
      </Button>
    </>
  );
  return (
    <Dialog open wide onClose={onClose} title={words.title(name)} about={version === 0 ? text.workflows.test.neverPublished : words.about} actions={actions}>
      <div className={styles.stack}>
        <div className={styles.simulated}>
          <Field label={words.days}>
            <TextInput type="number" min={1} max={365} value={days} onChange={setDays} />
          </Field>
          <Field label={words.for}>
            <Select value={whom} options={options} onChange={setWhom} />
          </Field>
          {whom === "tag" && (
            <Field label={words.tag}>
              <TextInput value={tag} onChange={setTag} />
            </Field>
          )}
        </div>
        {whom === "data" && (
          <Field label={text.workflows.preview.data} problem={sample.data ? undefined : text.workflows.preview.notJson}>
            <CodeEditor value={sample.text} language="json" lines={false} minHeight={90} maxHeight={200} onChange={(written) => sample.change({ text: written })} />
          </Field>
        )}
        {problem !== null && <Problem error={problem} />}
        {result && <SimulationView simulation={result} />}
      </div>
    </Dialog>
  );
}
