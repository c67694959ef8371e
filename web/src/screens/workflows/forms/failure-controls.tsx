import { isObject, type Json, type JsonObject, textOf, withField } from "../../../parts/graph/definition";
import { text } from "../../../text";
import { Select } from "../../../ui/select";
import { TextInput } from "../../../ui/text-input";
import type { Schema } from "../model/schema";
import styles from "./forms.module.css";
import { usePartForm } from "./part-form";
import { SchemaForm } from "./schema-form";
import type { ControlProps } from "./text-controls";

const words = text.workflows.form;
const CUSTOM = "custom";

/** A word, or retries and then a word. */
export function OnFailureControl({ value, onChange, label }: ControlProps) {
  const { canEdit } = usePartForm();
  const chosen = isObject(value) ? CUSTOM : textOf(value);
  const options = ["", "abort", "continue", "retry", CUSTOM].map((one) => ({ value: one, label: words.failure[one] ?? one }));
  const choose = (one: string) => onChange(one === CUSTOM ? { retry: 5, then: "continue" } : one || undefined);
  return (
    <div className={styles.stack}>
      <Select value={chosen} options={options} disabled={!canEdit} onChange={choose} />
      {isObject(value) && <Retries value={value} onChange={onChange} label={label} canEdit={canEdit} />}
    </div>
  );
}

interface RetriesProps {
  value: JsonObject;
  onChange: (value: Json) => void;
  label: string;
  canEdit: boolean;
}

function Retries({ value, onChange, label, canEdit }: RetriesProps) {
  const then = ["abort", "continue"].map((one) => ({ value: one, label: `${words.then} ${words.words[one] ?? one}` }));
  const retries = value["retry"];
  return (
    <div className={styles.amount}>
      <TextInput
        id={undefined}
        type="number"
        min={0}
        max={100}
        aria-label={`${label}: ${words.retries}`}
        value={typeof retries === "number" ? retries : ""}
        readOnly={!canEdit}
        onChange={(typed) => onChange(withField(value, "retry", typed === "" ? undefined : Number(typed)))}
      />
      <Select id={undefined} aria-label={`${label}: ${words.then}`} value={textOf(value["then"]) || "abort"} options={then} disabled={!canEdit} onChange={(one) => onChange(withField(value, "then", one))} />
    </div>
  );
}

/** What is called or sent when an execution fails. */
export function ReportControl({ value, onChange, schema, place }: ControlProps & { schema: Schema }) {
  const { canEdit } = usePartForm();
  const ways = (schema.anyOf ?? []).filter((one) => one.properties);
  const report: JsonObject = typeof value === "string" ? { function: value } : isObject(value) ? value : {};
  const kind = value === undefined ? "" : textOf(report["type"]) || "function";
  const way = ways.find((one) => one.title === kind);
  const options = ["", ...ways.map((one) => one.title ?? "")].map((one) => ({ value: one, label: words.report[one] ?? words.reportMessage(text.graph.kinds[one] ?? one) }));
  const choose = (one: string) => onChange(one === "" ? undefined : one === "function" ? { function: "" } : { type: one, to: "" });
  return (
    <div className={styles.stack}>
      <Select value={kind} options={options} disabled={!canEdit} onChange={choose} />
      {way && (
        <div className={styles.boxed}>
          <SchemaForm schema={way} value={report} place={place} onChange={onChange} />
        </div>
      )}
    </div>
  );
}
