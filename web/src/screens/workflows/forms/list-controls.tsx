import { Plus, X } from "lucide-react";
import { isObject, type Json, type JsonObject, textOf, withEntry, withField } from "../../../parts/graph/definition";
import { text } from "../../../text";
import { Button } from "../../../ui/button";
import { Field } from "../../../ui/field";
import { IconButton } from "../../../ui/icon-button";
import { TextInput } from "../../../ui/text-input";
import { fieldsOf, isBlank, type Schema } from "../model/schema";
import { FieldRow } from "./field-row";
import styles from "./forms.module.css";
import { usePartForm, useProblemAt } from "./part-form";
import { type ControlProps, LiquidControl, LineControl } from "./text-controls";

const words = text.workflows.form;
type WithSchema = ControlProps & { schema: Schema };

const listIn = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);

/** One, or a list: an address, or several. */
export function OneOrSeveralControl(props: WithSchema) {
  const { value, onChange } = props;
  const { canEdit } = usePartForm();
  if (Array.isArray(value)) return <ListControl {...props} schema={props.schema.anyOf?.find((one) => one.type === "array") ?? props.schema} onEmpty={() => onChange(undefined)} />;
  return (
    <div className={styles.several}>
      <LiquidControl {...props} />
      {canEdit && !isBlank(value) && (
        <Button kind="quiet" small icon={<Plus size={14} aria-hidden />} onClick={() => onChange([textOf(value), ""])}>
          {words.addOne}
        </Button>
      )}
    </div>
  );
}

export function ListControl(props: WithSchema & { onEmpty?: () => void }) {
  const { value, onChange, schema, place, label, onEmpty } = props;
  const { canEdit } = usePartForm();
  const entries = listIn(value);
  const Control = schema.items?.format === "liquid" ? LiquidControl : LineControl;
  const without = (index: number) => {
    const left = entries.filter((_, at) => at !== index);
    if (left.length > 0) onChange(onEmpty && left.length === 1 ? left[0] : left);
    else if (onEmpty) onEmpty();
    else onChange(undefined);
  };
  return (
    <ul className={styles.entries}>
      {entries.map((entry, index) => (
        <li key={index}>
          <Entry label={`${label} ${index + 1}`} place={`${place}[${index}]`} onRemove={canEdit ? () => without(index) : undefined}>
            <Control value={entry} label={label} place={`${place}[${index}]`} onChange={(one) => onChange(withEntry(entries, index, one ?? ""))} />
          </Entry>
        </li>
      ))}
      {canEdit && (
        <li>
          <Button kind="quiet" small icon={<Plus size={14} aria-hidden />} onClick={() => onChange([...entries, ""])}>
            {words.addOne}
          </Button>
        </li>
      )}
    </ul>
  );
}

interface EntryProps {
  label: string;
  place: string;
  onRemove: (() => void) | undefined;
  children: React.ReactNode;
}

function Entry({ label, place, onRemove, children }: EntryProps) {
  const { words: problem } = useProblemAt(place);
  return (
    <div className={styles.entry}>
      <Field label={label} labelHidden problem={problem}>
        {children}
      </Field>
      {onRemove && (
        <IconButton small label={words.removeOne(label)} onClick={onRemove}>
          <X size={14} aria-hidden />
        </IconButton>
      )}
    </div>
  );
}

/** Names and values: headers, the data of a push. */
export function PairsControl({ value, onChange, place, label }: WithSchema) {
  const { canEdit } = usePartForm();
  const pairs = Object.entries(isObject(value) ? value : {});
  const change = (next: readonly (readonly [string, Json])[]) => onChange(next.length ? Object.fromEntries(next) : undefined);
  return (
    <ul className={styles.entries}>
      {pairs.map(([name, one], index) => (
        <li key={index} className={styles.pair}>
          <TextInput id={undefined} aria-label={`${label}: ${words.pairName}`} mono value={name} readOnly={!canEdit} onChange={(typed) => change(withEntry(pairs, index, [typed, one]))} />
          <Entry label={`${label}: ${name || words.pairValue}`} place={`${place}.${name}`} onRemove={canEdit ? () => change(pairs.filter((_, at) => at !== index)) : undefined}>
            <LiquidControl value={one} label={name} place={`${place}.${name}`} onChange={(typed) => change(withEntry(pairs, index, [name, typed ?? ""]))} />
          </Entry>
        </li>
      ))}
      {canEdit && (
        <li>
          <Button kind="quiet" small icon={<Plus size={14} aria-hidden />} disabled={pairs.some(([name]) => name === "")} onClick={() => change([...pairs, ["", ""]])}>
            {words.addPair}
          </Button>
        </li>
      )}
    </ul>
  );
}

/** The fields of an object, under their own names. */
export function GroupControl({ value, onChange, schema, place }: WithSchema) {
  const object: JsonObject = isObject(value) ? value : {};
  const change = (name: string, one: Json | undefined) => {
    const next = withField(object, name, one);
    onChange(isBlank(next) ? undefined : next);
  };
  return (
    <div className={styles.group}>
      {fieldsOf(innerSchema(schema)).map((field) => (
        <FieldRow key={field.name} field={field} place={`${place}.${field.name}`} value={object[field.name]} onChange={(one) => change(field.name, one)} />
      ))}
    </div>
  );
}

/** In a group, what the whole has by default is the default of its parts. */
function innerSchema(schema: Schema): Schema {
  const defaults = schema.default;
  if (!isObject(defaults) || !schema.properties) return schema;
  const properties = Object.entries(schema.properties).map(([name, one]): [string, Schema] => {
    const byDefault = defaults[name];
    return [name, byDefault === undefined ? one : { ...one, default: byDefault }];
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** A list of objects, each with the same fields: attachments. */
export function GroupsControl({ value, onChange, schema, place, label }: WithSchema) {
  const { canEdit } = usePartForm();
  const entries = listIn(value);
  const items = schema.items ?? {};
  return (
    <ul className={styles.entries}>
      {entries.map((entry, index) => (
        <li key={index} className={styles.boxed}>
          <GroupControl value={entry} schema={items} place={`${place}[${index}]`} label={label} onChange={(one) => onChange(withEntry(entries, index, one ?? {}))} />
          {canEdit && (
            <Button kind="quiet" small icon={<X size={14} aria-hidden />} onClick={() => onChange(entries.length > 1 ? entries.filter((_, at) => at !== index) : undefined)}>
              {words.removeOne(`${label} ${index + 1}`)}
            </Button>
          )}
        </li>
      ))}
      {canEdit && (
        <li>
          <Button kind="quiet" small icon={<Plus size={14} aria-hidden />} onClick={() => onChange([...entries, {}])}>
            {words.addPair}
          </Button>
        </li>
      )}
    </ul>
  );
}
