import { useState } from "react";
import { useRead } from "../../api/queries";
import type { Unsaved } from "../../screens/workflows/api";
import { ContactChoice } from "../../screens/workflows/preview/contact-choice";
import { MessagePreview } from "../../screens/workflows/preview/message-preview";
import { usePreviews } from "../../screens/workflows/preview/use-previews";
import { text } from "../../text";
import styles from "./content.module.css";

export interface Chosen {
  id: string;
  label: string;
}

function useContactForPreview() {
  const [contact, setContact] = useState<Chosen | null>(null);
  return { contact, change: ({ contact: chosen }: { contact?: Chosen | null }) => setContact(chosen ?? null) };
}

/** What a message would say to the newest contact, or to another that is chosen, as it is written now. */
export function ContactPreview({ unsaved }: { unsaved: Unsaved }) {
  const chosen = useContactForPreview();
  const { data } = useRead("GET /v1/contacts", { query: { limit: 1 } });
  const newest = data?.data[0];
  const contact = chosen.contact ?? (newest ? { id: newest.id, label: newest.name ?? newest.email ?? newest.externalId } : null);
  return (
    <section aria-label={text.message.preview} className={styles.preview}>
      <header className={styles.previewHead}>
        <h2>{text.message.preview}</h2>
        <ContactChoice sample={{ contact, change: chosen.change }} />
      </header>
      {data && <ShownPreviews unsaved={contact ? { ...unsaved, contactId: contact.id } : unsaved} />}
    </section>
  );
}

export function ShownPreviews({ unsaved }: { unsaved: Unsaved }) {
  const isEmpty = Object.keys(unsaved.content ?? {}).length === 0;
  const { previews, problem } = usePreviews(isEmpty ? undefined : unsaved);
  return (
    <div className={styles.shown} aria-live="polite">
      {problem && <p className={styles.note}>{problem}</p>}
      {previews?.map((preview, place) => <MessagePreview key={place} preview={preview} />)}
      {!previews && !problem && <p className={styles.note}>{text.message.nothingYet}</p>}
    </div>
  );
}
