import { Plus, X } from "lucide-react";
import { channelWord } from "../channel-word";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { IconButton } from "../../ui/icon-button";
import { Select } from "../../ui/select";
import { TextInput } from "../../ui/text-input";
import styles from "./audience.module.css";
import { CONSENTS, CONTACT_CHANNELS, FIELDS, kindOf, OPERATORS, WITHOUT_VALUE } from "./fields";
import { EMPTY_ROW, type Group, type Join, type Row } from "./filter";

const words = text.audience;
const JOINS = (["all", "any", "none"] as const).map((value) => ({ value, label: words.joins[value] }));
const FIELD_OPTIONS = FIELDS.map(({ name, label }) => ({ value: name, label }));

interface FilterBuilderProps {
  groups: readonly Group[];
  onChange: (groups: readonly Group[]) => void;
  /** Names of attributes that contacts have, to choose from. */
  attributes?: readonly string[];
  disabled?: boolean;
}

/** Whom a filter means: groups of rows, each row one condition. */
export function FilterBuilder({ groups, onChange, attributes = [], disabled = false }: FilterBuilderProps) {
  const change = (place: number, group: Group) =>
    onChange(group.rows.length ? groups.with(place, group) : groups.length > 1 ? groups.toSpliced(place, 1) : [{ join: "all", rows: [EMPTY_ROW] }]);
  return (
    <fieldset className={styles.builder} disabled={disabled}>
      <legend className="visually-hidden">{words.kinds.matching}</legend>
      <datalist id="attribute-names">
        {attributes.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {groups.map((group, place) => (
        <GroupRows key={place} group={group} onChange={(changed) => change(place, changed)} isFirst={place === 0} />
      ))}
      <div>
        <Button small kind="quiet" icon={<Plus size={14} aria-hidden />} onClick={() => onChange([...groups, { join: "none", rows: [EMPTY_ROW] }])}>
          {words.addGroup}
        </Button>
      </div>
    </fieldset>
  );
}

function GroupRows({ group, onChange, isFirst }: { group: Group; onChange: (group: Group) => void; isFirst: boolean }) {
  const { join, rows } = group;
  return (
    <div className={styles.group}>
      <div className={styles.join}>
        {!isFirst && <span>{words.and}</span>}
        <Select<Join> small aria-label={words.join} value={join} options={JOINS} onChange={(value) => onChange({ ...group, join: value })} />
      </div>
      {rows.map((row, place) => (
        <RowFields
          key={place}
          row={row}
          onChange={(changed) => onChange({ ...group, rows: rows.with(place, changed) })}
          onRemove={() => onChange({ ...group, rows: rows.toSpliced(place, 1) })}
        />
      ))}
      <div>
        <Button small icon={<Plus size={14} aria-hidden />} onClick={() => onChange({ ...group, rows: [...rows, EMPTY_ROW] })}>
          {words.addRow}
        </Button>
      </div>
    </div>
  );
}

function RowFields({ row, onChange, onRemove }: { row: Row; onChange: (row: Row) => void; onRemove: () => void }) {
  const kind = kindOf(row.field);
  const operators = OPERATORS[kind].map((value) => ({ value, label: words.operators[value as keyof typeof words.operators] }));
  return (
    <div className={styles.row}>
      <Select small aria-label={words.field} value={row.field} options={FIELD_OPTIONS} onChange={(field) => onChange(rowFor(field))} />
      {kind === "attribute" && (
        <TextInput
          small
          list="attribute-names"
          aria-label={words.attribute}
          placeholder={words.attributePlaceholder}
          value={row.attribute}
          onChange={(attribute) => onChange({ ...row, attribute })}
        />
      )}
      <Select small aria-label={words.operator} value={row.op} options={operators} onChange={(op) => onChange({ ...row, op })} />
      {!WITHOUT_VALUE.includes(row.op) && <ValueField row={row} onChange={(value) => onChange({ ...row, value })} />}
      <IconButton small label={words.removeRow} onClick={onRemove}>
        <X size={14} aria-hidden />
      </IconButton>
    </div>
  );
}

/** A new condition on a field, with the first way to compare it. */
function rowFor(field: string): Row {
  const kind = kindOf(field);
  const value = kind === "channel" ? "email" : kind === "consent" ? "granted" : "";
  return { field, attribute: "", op: OPERATORS[kind][0] ?? "equals", value };
}

function ValueField({ row, onChange }: { row: Row; onChange: (value: string) => void }) {
  const kind = kindOf(row.field);
  if (kind === "channel" || kind === "consent") {
    const options =
      kind === "channel"
        ? CONTACT_CHANNELS.map((value) => ({ value: value, label: channelWord(value) }))
        : CONSENTS.map((value) => ({ value: value, label: words.consents[value] }));
    return <Select small aria-label={words.value} value={row.value} options={options} onChange={onChange} />;
  }
  return <TextInput small aria-label={words.value} placeholder={placeholderOf(row)} value={row.value} onChange={onChange} />;
}

function placeholderOf({ op }: Row): string {
  if (op === "in" || op === "isOneOf") return words.placeholders.list;
  return op === "before" || op === "after" ? words.placeholders.time : words.placeholders.plain;
}
