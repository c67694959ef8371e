import { Plus, X } from "lucide-react";
import { useState } from "react";
import { type Comparison, conditionOf, rowsOf, type Rows, VALUELESS, valueShown, valueTyped, wordOf } from "../../../parts/graph/conditions";
import { isObject, type JsonObject, withEntry } from "../../../parts/graph/definition";
import { text } from "../../../text";
import { Button } from "../../../ui/button";
import { Combobox } from "../../../ui/combobox";
import { Field } from "../../../ui/field";
import { IconButton } from "../../../ui/icon-button";
import { Select } from "../../../ui/select";
import { TextInput } from "../../../ui/text-input";
import styles from "./forms.module.css";
import { usePartForm, useProblemAt } from "./part-form";
import { JsonControl } from "./text-controls";

const words = text.workflows.condition;
const EMPTY: Comparison = { path: "", op: "equals", value: "" };

interface ConditionFormProps {
  condition: JsonObject;
  onChange: (condition: JsonObject) => void;
}

/** A condition as rows of comparisons, or as JSON where it is more than that. */
export function ConditionForm({ condition, onChange }: ConditionFormProps) {
  const rows = rowsOf(condition);
  const [asJson, setAsJson] = useState(false);
  const { words: problem } = useProblemAt("condition");
  return (
    <div className={styles.form}>
      {rows && !asJson ? (
        <RowsForm rows={rows} onChange={(next) => onChange(conditionOf(next))} />
      ) : (
        <Field label={words.title} hint={words.jsonHint} problem={problem}>
          <JsonControl value={condition} place="condition" label={words.title} onChange={(value) => isObject(value) && onChange(value)} />
        </Field>
      )}
      {rows && (
        <Button kind="quiet" small onClick={() => setAsJson(!asJson)}>
          {asJson ? words.asRows : words.asJson}
        </Button>
      )}
    </div>
  );
}

function RowsForm({ rows: { join, rows }, onChange }: { rows: Rows; onChange: (rows: Rows) => void }) {
  const { canEdit } = usePartForm();
  const joins = (["all", "any"] as const).map((value) => ({ value, label: words[value] }));
  return (
    <>
      <div className={styles.taken}>
        <span>{words.taken}</span>
        {rows.length > 1 && <Select small aria-label={words.taken} value={join} options={joins} disabled={!canEdit} onChange={(one) => onChange({ join: one, rows })} />}
      </div>
      {rows.map((row, index) => (
        <Row
          key={index}
          row={row}
          place={rows.length === 1 ? "condition" : `condition.${join}[${index}]`}
          onChange={(one) => onChange({ join, rows: withEntry(rows, index, one) })}
          onRemove={rows.length > 1 ? () => onChange({ join, rows: rows.filter((_, at) => at !== index) }) : undefined}
        />
      ))}
      {canEdit && (
        <Button kind="quiet" small icon={<Plus size={14} aria-hidden />} onClick={() => onChange({ join, rows: [...rows, EMPTY] })}>
          {words.addRow}
        </Button>
      )}
    </>
  );
}

interface RowProps {
  row: Comparison;
  place: string;
  onChange: (row: Comparison) => void;
  onRemove: (() => void) | undefined;
}

function Row({ row, place, onChange, onRemove }: RowProps) {
  const { types, variables, canEdit } = usePartForm();
  const { words: problem } = useProblemAt(place);
  const [typed, setTyped] = useState<string | null>(null);
  const known = variables.filter((one) => one.name.toLowerCase().includes(row.path.toLowerCase()) && one.name !== row.path);
  const operators = types.operators.map(({ name }) => ({ value: name, label: wordOf(name) }));
  const change = (op: string) => onChange(VALUELESS.has(op) ? { path: row.path, op, value: undefined } : { ...row, op, value: row.value ?? "" });
  return (
    <div className={styles.row}>
      <Field label={words.path} labelHidden problem={problem} className={styles.path}>
        <Combobox
          query={row.path}
          placeholder={words.path}
          disabled={!canEdit}
          choices={known.slice(0, 30).map(({ name, origin, node }) => ({ value: name, label: name, about: node ?? origin }))}
          onSearch={(path) => onChange({ ...row, path: path.trim() })}
          onChoose={(choice) => onChange({ ...row, path: choice.value })}
        />
      </Field>
      <Select aria-label={words.op} value={row.op} options={operators} disabled={!canEdit} onChange={change} />
      {!VALUELESS.has(row.op) && (
        <TextInput
          aria-label={words.value}
          title={words.valueHint}
          placeholder={words.value}
          value={typed ?? valueShown(row.value)}
          readOnly={!canEdit}
          onChange={(value) => {
            setTyped(value);
            onChange({ ...row, value: valueTyped(value) });
          }}
          onBlur={() => setTyped(null)}
        />
      )}
      {onRemove && canEdit && (
        <IconButton small label={words.removeRow} onClick={onRemove}>
          <X size={14} aria-hidden />
        </IconButton>
      )}
    </div>
  );
}
