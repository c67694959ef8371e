import type { Contact } from "@tidings/client";
import { useState } from "react";
import { useRead } from "../../../api/queries";
import { text } from "../../../text";
import { Combobox } from "../../../ui/combobox";
import type { SampleState } from "../editor/sample";

const words = text.workflows.preview;

const labelOf = (contact: Contact) => contact.name ?? contact.email ?? contact.phone ?? contact.externalId;

/** Somebody of the workspace, found by a few letters. */
export function ContactChoice({ sample }: { sample: Pick<SampleState, "contact" | "change"> }) {
  const [typed, setTyped] = useState<string | null>(null);
  const found = useRead("GET /v1/contacts", { query: { limit: 12, ...(typed ? { text: typed } : {}) } }, { keep: true });
  const choices = (found.data?.data ?? []).map((one) => ({ value: one.id, label: labelOf(one), about: one.name ? one.email : one.externalId }));
  return (
    <Combobox
      label={words.contact}
      placeholder={words.contactHint}
      query={typed ?? sample.contact?.label ?? ""}
      empty={found.data ? words.noContact : text.common.loading}
      choices={choices}
      onSearch={setTyped}
      onChoose={(choice) => {
        setTyped(null);
        sample.change({ contact: { id: choice.value, label: choice.label } });
      }}
    />
  );
}
