import { useState } from "react";
import type { Unsaved } from "../../screens/workflows/api";
import { ContactChoice } from "../../screens/workflows/preview/contact-choice";
import { MessagePreview } from "../../screens/workflows/preview/message-preview";
import { usePreviews } from "../../screens/workflows/preview/use-previews";
import { text } from "../../text";
import styles from "./message.module.css";

export interface Chosen {
  id: string;
  label: string;
}

/** Somebody of the workspace for whom previews are shown, kept for as long as the page is open. */
export function useContactForPreview() {
  const [contact, setContact] = useState<Chosen | null>(null);
  return { contact, change: ({ contact: chosen }: { contact?: Chosen | null }) => setContact(chosen ?? null) };
}

/** What a message would say to a chosen contact, as it is written now. */
export function ContactPreview({ unsaved }: { unsaved: Unsaved }) {
  const sample = useContactForPreview();
  return (
    <section aria-label={text.message.preview} className={styles.preview}>
      <header className={styles.previewHead}>
        <h2>{text.message.preview}</h2>
        <ContactChoice sample={sample} />
      </header>
      <ShownPreviews unsaved={sample.contact ? { ...unsaved, contactId: sample.contact.id } : unsaved} />
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
