import type { Contact, GivenContact } from "@tidings/client";
import { Plus, X } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client";
import { problemAt, problemElsewhere } from "../../api/problem";
import { invalidate } from "../../api/queries";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { Field } from "../../ui/field";
import { IconButton } from "../../ui/icon-button";
import { Problem } from "../../ui/problem";
import { TextInput } from "../../ui/text-input";
import { toast } from "../../ui/toast";
import { useSubmit } from "../../ui/use-submit";
import { type AttributeRow, changedAttributes, rowsOf } from "./attributes";
import styles from "./contact.module.css";

const words = text.contacts;
const FIELDS = ["name", "email", "phone", "whatsapp", "company", "status", "timeZone", "locale"] as const;

/** The fields of a contact, and what is one's own about it. */
export function DetailsForm({ contact }: { contact: Contact }) {
  const [given, setGiven] = useState(() => Object.fromEntries(FIELDS.map((name) => [name, contact[name] ?? ""])));
  const [rows, setRows] = useState(() => rowsOf(contact.attributes));
  const { busy, problem, onSubmit } = useSubmit(async () => {
    const changed = FIELDS.filter((name) => given[name] !== (contact[name] ?? ""));
    const fields: GivenContact = Object.fromEntries(changed.map((name) => [name, given[name] || null]));
    await api.contacts.update(contact.id, { ...fields, attributes: changedAttributes(contact.attributes, rows) });
    await invalidate("/v1/contacts", "/v1/audiences");
    toast(text.common.saved);
  });
  const elsewhere = problemElsewhere(problem, FIELDS);
  return (
    <form className={styles.form} onSubmit={onSubmit}>
      <div className={styles.fields}>
        {FIELDS.map((name) => (
          <Field key={name} label={words.fields[name]} problem={problemAt(problem, name)} hint={words.hints[name as keyof typeof words.hints]}>
            <TextInput value={given[name] ?? ""} onChange={(value) => setGiven({ ...given, [name]: value })} />
          </Field>
        ))}
      </div>
      <Attributes rows={rows} onChange={setRows} />
      {elsewhere !== null && <Problem error={elsewhere} />}
      <div>
        <Button type="submit" kind="primary" busy={busy}>
          {text.common.save}
        </Button>
      </div>
    </form>
  );
}

function Attributes({ rows, onChange }: { rows: readonly AttributeRow[]; onChange: (rows: AttributeRow[]) => void }) {
  return (
    <fieldset className={styles.attributes}>
      <legend>{words.attributes}</legend>
      <p>{words.attributesAbout}</p>
      {rows.map((row, place) => (
        <div key={place} className={styles.inline}>
          <TextInput small aria-label={words.attributeName} value={row.name} onChange={(name) => onChange(rows.with(place, { ...row, name }))} />
          <TextInput small aria-label={words.attributeValue} value={row.value} onChange={(value) => onChange(rows.with(place, { ...row, value }))} />
          <IconButton small label={words.removeAttribute(row.name)} onClick={() => onChange(rows.toSpliced(place, 1))}>
            <X size={14} aria-hidden />
          </IconButton>
        </div>
      ))}
      <div>
        <Button small icon={<Plus size={14} aria-hidden />} onClick={() => onChange([...rows, { name: "", value: "" }])}>
          {words.addAttribute}
        </Button>
      </div>
    </fieldset>
  );
}
