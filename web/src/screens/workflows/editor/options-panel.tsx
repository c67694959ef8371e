import { text } from "../../../text";
import { SchemaForm } from "../forms/schema-form";
import type { JsonObject } from "../../../parts/graph/definition";
import { useEditing } from "./editing";
import styles from "./editor.module.css";

/** What holds for the whole workflow: what a trigger must bring, how long it may take, what happens when it fails. */
export function OptionsPanel() {
  const { definition, types, edit } = useEditing();
  const change = (next: JsonObject, field: string) => edit({ definition: next }, `options.${field}`);
  return (
    <div className={styles.column}>
      <header className={styles.panelHead}>
        <div>
          <h2>{text.workflows.editor.optionsOf}</h2>
        </div>
      </header>
      <div className={styles.fields} data-fields>
        <SchemaForm isFlat schema={types.workflow.options} value={definition} onChange={change} />
      </div>
    </div>
  );
}
