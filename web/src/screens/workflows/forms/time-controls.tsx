import { useState } from "react";
import { amountIn, durationOf, UNITS, type Unit } from "../../../parts/graph/duration";
import { textOf } from "../../../parts/graph/definition";
import { text } from "../../../text";
import { localTime } from "../../../ui/filter-bar";
import { Select } from "../../../ui/select";
import { TextInput } from "../../../ui/text-input";
import styles from "./forms.module.css";
import { usePartForm } from "./part-form";
import { type ControlProps, LiquidControl } from "./text-controls";

const words = text.workflows.form;
const WRITTEN = "written";

/** A number and its unit, or ISO 8601 for what has several. */
export function DurationControl({ value, onChange, label }: ControlProps) {
  const { canEdit } = usePartForm();
  const [unit, setUnit] = useState<Unit>("days");
  const isEmpty = textOf(value) === "";
  const amount = isEmpty ? { count: 1, unit } : amountIn(textOf(value));
  const [isWritten, setWritten] = useState(!amount);
  const options = [...UNITS.map((one) => ({ value: one, label: words.units[one] ?? one })), { value: WRITTEN, label: words.written }];
  const choose = (chosen: string) => {
    setWritten(chosen === WRITTEN);
    if (chosen === WRITTEN) return;
    setUnit(chosen as Unit);
    if (!isEmpty) onChange(durationOf({ count: amount?.count ?? 1, unit: chosen as Unit }));
  };
  return (
    <div className={styles.amount}>
      {isWritten || !amount ? (
        <TextInput value={textOf(value)} onChange={onChange} readOnly={!canEdit} mono placeholder="P1DT2H" />
      ) : (
        <TextInput type="number" min={0} step="any" value={isEmpty ? "" : amount.count} readOnly={!canEdit} onChange={(typed) => onChange(typed === "" ? undefined : durationOf({ count: Math.max(0, Number(typed)), unit: amount.unit }))} />
      )}
      <Select id={undefined} aria-label={`${label}: ${words.unit}`} value={isWritten || !amount ? WRITTEN : amount.unit} options={options} disabled={!canEdit} onChange={choose} />
    </div>
  );
}

/** A moment on the reader's own clock, or one variable that holds a time. */
export function TimeControl(props: ControlProps) {
  const { value, onChange, label } = props;
  const { canEdit } = usePartForm();
  const isMoment = /^\d{4}-/.test(textOf(value));
  const options = [
    { value: "variable", label: words.aVariable },
    { value: "time", label: words.aTime },
  ];
  const choose = (kind: string) => onChange(kind === "time" ? new Date(Date.now() + 86_400_000).toISOString().replace(/:\d\d\.\d+Z/, ":00Z") : "{{ appointment_at }}");
  return (
    <div className={styles.amount}>
      {isMoment ? (
        <input
          type="datetime-local"
          className={styles.moment}
          aria-label={label}
          value={localTime(textOf(value))}
          readOnly={!canEdit}
          onChange={(event) => event.target.value && onChange(new Date(event.target.value).toISOString().replace(/\.\d+Z/, "Z"))}
        />
      ) : (
        <LiquidControl {...props} />
      )}
      <Select id={undefined} aria-label={`${label}: ${words.when}`} value={isMoment ? "time" : "variable"} options={options} disabled={!canEdit} onChange={choose} />
    </div>
  );
}
