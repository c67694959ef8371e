import type { Contact } from "@tidings/client";
import { Plus, X } from "lucide-react";
import { type SubmitEvent, useState } from "react";
import { api } from "../../api/client";
import { invalidate } from "../../api/queries";
import { text } from "../../text";
import { IconButton } from "../../ui/icon-button";
import { KeyValue } from "../../ui/key-value";
import { Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Tag } from "../../ui/status";
import { TextInput } from "../../ui/text-input";
import { Time } from "../../ui/time";
import styles from "./contact.module.css";

const words = text.contacts;
const SHOWN = ["email", "phone", "whatsapp", "company", "status", "timeZone", "locale"] as const;

/** Who the person is: what is known at a glance, and the tags. */
export function Facts({ contact, mayChange }: { contact: Contact; mayChange: boolean }) {
  const attributes = Object.entries(contact.attributes);
  return (
    <>
      <Section title={words.details}>
        <KeyValue
          pairs={[
            ...SHOWN.map((name) => [words.fields[name], contact[name]] as const),
            [words.pushTokens, contact.pushTokens.length || undefined],
            [words.columns.added, <Time key="added" at={contact.createdAt} />],
          ]}
        />
      </Section>
      <Section title={words.tags}>
        <TagEditor contact={contact} mayChange={mayChange} />
      </Section>
      {attributes.length > 0 && (
        <Section title={words.attributes}>
          <KeyValue pairs={attributes.map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)] as const)} />
        </Section>
      )}
    </>
  );
}

function TagEditor({ contact, mayChange }: { contact: Contact; mayChange: boolean }) {
  const [typed, setTyped] = useState("");
  const [problem, setProblem] = useState<unknown>(null);
  const save = async (tags: readonly string[]) => {
    setProblem(null);
    try {
      await api.contacts.update(contact.id, { tags: [...tags] });
      setTyped("");
      await invalidate("/v1/contacts", "/v1/audiences");
    } catch (error) {
      setProblem(error);
    }
  };
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    const tag = typed.trim();
    if (tag && !contact.tags.includes(tag)) void save([...contact.tags, tag]);
  };
  return (
    <div className={styles.stack}>
      <ul className={styles.tags}>
        {contact.tags.map((tag) => (
          <li key={tag}>
            <Tag>{tag}</Tag>
            {mayChange && (
              <IconButton small label={words.removeTag(tag)} onClick={() => void save(contact.tags.filter((one) => one !== tag))}>
                <X size={12} aria-hidden />
              </IconButton>
            )}
          </li>
        ))}
      </ul>
      {mayChange && (
        <form className={styles.inline} onSubmit={onSubmit}>
          <TextInput small aria-label={words.addTag} placeholder={words.addTag} value={typed} onChange={setTyped} />
          <IconButton small label={words.addTag} type="submit">
            <Plus size={14} aria-hidden />
          </IconButton>
        </form>
      )}
      {problem !== null && <Problem error={problem} />}
    </div>
  );
}
