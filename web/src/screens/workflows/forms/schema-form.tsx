import { ChevronRight } from "lucide-react";
import { useMemo, useState } from "react";
import { fieldOf as valueOf, type Json, type JsonObject, withField } from "../../../parts/graph/definition";
import { text } from "../../../text";
import { cx } from "../../../ui/cx";
import { type FieldGroups, type FormField, groupsOf, isBlank, type Schema } from "../model/schema";
import { FieldRow } from "./field-row";
import styles from "./forms.module.css";
import { usePartForm, useProblemAt } from "./part-form";

const words = text.workflows.form;

interface SchemaFormProps {
  schema: Schema;
  value: JsonObject;
  onChange: (value: JsonObject, field: string) => void;
  /** Where the object stands below its part; empty for the part itself. */
  place?: string;
  /** A word on single fields, by their names. */
  hints?: Readonly<Record<string, string>>;
  /** Every field at once, with what it is for. */
  isFlat?: boolean;
}

/** A form made of a JSON schema: first what nearly everybody fills in, the rest behind "More". */
export function SchemaForm({ schema, value, onChange, place = "", hints = {}, isFlat }: SchemaFormProps) {
  const groups = useMemo(() => groupsOf(schema), [schema]);
  const placeOf = (name: string) => (place ? `${place}.${name}` : name);
  const change = (name: string, one: Json | undefined) => onChange(withField(value, name, one), placeOf(name));
  const row = (field: FormField, quiet: boolean) => (
    <FieldRow key={field.name} field={field} quiet={quiet} hint={hints[field.name]} place={placeOf(field.name)} value={valueOf(value, field.name)} onChange={(one) => change(field.name, one)} />
  );
  return (
    <div className={styles.form}>
      {groups.first.map((field) => row(field, true))}
      {groups.either.length > 0 && <Either groups={groups} value={value} place={placeOf} onChange={onChange} />}
      {isFlat && groups.more.map((field) => row(field, false))}
      {!isFlat && groups.more.length > 0 && <More fields={groups.more} value={value} place={placeOf} row={(field) => row(field, false)} />}
    </div>
  );
}

interface EitherProps {
  groups: FieldGroups;
  value: JsonObject;
  place: (name: string) => string;
  onChange: (value: JsonObject, field: string) => void;
}

const BEGINNINGS: Readonly<Record<string, Json>> = { duration: "P1D", delayMs: 60_000, until: "{{ appointment_at }}" };

/** Fields of which one is to be given, as tabs: those that are filled in have a dot. */
function Either({ groups: { either, isExclusive }, value, place, onChange }: EitherProps) {
  const filled = either.filter((field) => !isBlank(valueOf(value, field.name)));
  const [chosen, setChosen] = useState<string | null>(null);
  const current = either.find((field) => field.name === chosen) ?? filled[0] ?? either[0];
  const { canEdit } = usePartForm();
  if (!current) return null;
  const choose = (field: FormField) => {
    setChosen(field.name);
    if (!isExclusive || !canEdit || field === current) return;
    const others = either.reduce((left, one) => withField(left, one.name, undefined), value);
    onChange(withField(others, field.name, BEGINNINGS[field.name] ?? ""), place(field.name));
  };
  return (
    <div className={styles.either}>
      {either.length > 1 && (
        <div role="group" aria-label={isExclusive ? words.when : words.either} className={styles.ways}>
          {either.map((field) => (
            <button key={field.name} type="button" aria-pressed={field === current} className={cx(styles.way, field === current && styles.chosen)} onClick={() => choose(field)}>
              {field.title}
              {filled.includes(field) && !isExclusive && <span className={styles.filled} />}
              <Flag place={place(field.name)} />
            </button>
          ))}
        </div>
      )}
      <FieldRow key={current.name} field={current} quiet={!isExclusive} labelHidden={either.length > 1} place={place(current.name)} value={valueOf(value, current.name)} onChange={(one) => onChange(withField(value, current.name, one), place(current.name))} />
    </div>
  );
}

/** That something is wrong in a field that is not shown. */
function Flag({ place }: { place: string }) {
  return useProblemAt(place).words ? <span className={styles.flag} aria-label={text.graph.problems(1)} role="img" /> : null;
}

interface MoreProps {
  fields: readonly FormField[];
  value: JsonObject;
  place: (name: string) => string;
  row: (field: FormField) => React.ReactNode;
}

/** What few people need, closed unless something in it is wrong. */
function More({ fields, value, place, row }: MoreProps) {
  const { problems } = usePartForm();
  const set = fields.filter((field) => !isBlank(valueOf(value, field.name))).length;
  const isWrong = fields.some((field) => problems.some((one) => one.field.startsWith(place(field.name))));
  const [open, setOpen] = useState(false);
  const isOpen = open || isWrong;
  return (
    <div className={styles.more}>
      <button type="button" className={styles.toggle} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <ChevronRight size={14} aria-hidden className={cx(isOpen && styles.turned)} />
        {set > 0 ? words.moreSet(set) : words.more}
      </button>
      {isOpen && <div className={styles.form}>{fields.map((field) => row(field))}</div>}
    </div>
  );
}
