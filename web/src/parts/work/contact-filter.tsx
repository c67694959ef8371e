import { useState } from "react";
import { useRead } from "../../api/queries";
import { text } from "../../text";
import { Combobox } from "../../ui/combobox";
import { useQueryValue } from "../../ui/use-query";
import styles from "./work.module.css";

/** Somebody found by a few letters; their id stands in the URL as `contactId`. */
export function ContactFilter() {
  const [contactId, setContactId] = useQueryValue("contactId");
  const [typed, setTyped] = useState<string | null>(null);
  const found = useRead("GET /v1/contacts", { query: { limit: 8, ...(typed ? { text: typed } : {}) } }, { keep: true, enabled: typed !== null });
  const chosen = useRead("GET /v1/contacts/{id}", { path: { id: contactId } }, { enabled: contactId !== "" });
  const choices = (typed === null ? [] : (found.data?.data ?? [])).map((one) => ({
    value: one.id,
    label: one.name ?? one.email ?? one.externalId,
    about: one.name ? one.email : one.externalId,
  }));
  const shown = contactId ? (chosen.data?.name ?? chosen.data?.email ?? chosen.data?.externalId ?? contactId) : "";
  return (
    <div className={styles.contactFilter}>
      <Combobox
        label={text.work.contact}
        placeholder={text.executions.anyContact}
        query={typed ?? shown}
        {...(typed === null ? {} : { empty: found.isPending ? text.common.loading : text.work.noContact })}
        choices={choices}
        onSearch={(query) => {
          setTyped(query);
          if (query === "") setContactId("");
        }}
        onChoose={(choice) => {
          setTyped(null);
          setContactId(choice.value);
        }}
      />
    </div>
  );
}
