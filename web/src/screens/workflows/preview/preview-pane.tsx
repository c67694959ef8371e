import { useMemo, useState } from "react";
import type { JsonObject } from "../../../parts/graph/definition";
import type { GraphNode } from "../../../parts/graph/graph";
import { text } from "../../../text";
import { CodeEditor } from "../../../ui/code-editor";
import { Button } from "../../../ui/button";
import { Field } from "../../../ui/field";
import { Select } from "../../../ui/select";
import type { Unsaved } from "../api";
import { useEditing } from "../editor/editing";
import { filledIn, type SampleState } from "../editor/sample";
import { ContactChoice } from "./contact-choice";
import { MessagePreview } from "./message-preview";
import styles from "./preview.module.css";
import { usePreviews } from "./use-previews";

const words = text.workflows.preview;

/** What a node would send to the chosen contact, or with the sample data, as it is written now. */
export function PreviewPane({ node }: { node: GraphNode }) {
  const { types, sample } = useEditing();
  const unsaved = useMemo(() => unsavedOf(node, sample, Object.keys(types.channels.find((one) => one.channel === node.type)?.schema.properties ?? {})), [node, sample, types]);
  const { previews, problem } = usePreviews(unsaved);
  return (
    <section aria-label={words.title} className={styles.pane}>
      <Who />
      <div className={styles.shown} aria-live="polite">
        {problem && <p className={styles.note}>{problem}</p>}
        {previews?.map((preview, place) => <MessagePreview key={place} preview={preview} />)}
        {!previews && !problem && <p className={styles.note}>{words.nothing}</p>}
      </div>
    </section>
  );
}

/** Whom it is shown for: sample data, or somebody who is there. */
function Who() {
  const { sample, variables } = useEditing();
  const [isOpen, setOpen] = useState(false);
  const kinds = [
    { value: "data" as const, label: words.sample },
    { value: "contact" as const, label: words.contact },
  ];
  return (
    <header className={styles.who}>
      <div className={styles.choice}>
        <h3>{words.title}</h3>
        <Select small aria-label={words.for} value={sample.kind} options={kinds} onChange={(kind) => sample.change({ kind })} />
        {sample.kind === "data" && (
          <Button kind="quiet" small aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {words.edit}
          </Button>
        )}
      </div>
      {sample.kind === "contact" && <ContactChoice sample={sample} />}
      {sample.kind === "data" && isOpen && (
        <div className={styles.sample}>
          <Field label={words.data} labelHidden hint={words.dataHint} problem={sample.data ? undefined : words.notJson}>
            <CodeEditor value={sample.text} language="json" lines={false} minHeight={90} maxHeight={220} onChange={(written) => sample.change({ text: written })} />
          </Field>
          {sample.data && (
            <Button kind="quiet" small onClick={() => sample.change({ text: JSON.stringify(filledIn(sample.data ?? {}, variables), null, 2) })}>
              {words.fill}
            </Button>
          )}
        </div>
      )}
    </header>
  );
}

/** What to ask for; nothing while the sample is not complete. */
export function unsavedOf(node: GraphNode, sample: Pick<SampleState, "kind" | "data" | "contact">, names: readonly string[]): Unsaved | undefined {
  const content: JsonObject = Object.fromEntries(Object.entries(node.fields).filter(([name]) => names.includes(camelCase(name))));
  const to = node.fields["to"];
  const base = { channel: node.type as NonNullable<Unsaved["channel"]>, content, ...(typeof to === "string" ? (to ? { to } : {}) : Array.isArray(to) ? { to: [...(to as string[])] } : {}) };
  if (sample.kind === "contact") return sample.contact ? { ...base, contactId: sample.contact.id, ...(sample.data ? { data: sample.data } : {}) } : undefined;
  return sample.data ? { ...base, data: sample.data } : undefined;
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
