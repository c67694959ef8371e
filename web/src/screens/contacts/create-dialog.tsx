import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../../api/client";
import { problemAt, problemElsewhere } from "../../api/problem";
import { invalidate } from "../../api/queries";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Field } from "../../ui/field";
import { Problem } from "../../ui/problem";
import { TextInput } from "../../ui/text-input";
import { toast } from "../../ui/toast";
import { useSubmit } from "../../ui/use-submit";

const words = text.contacts;
const FIELDS = ["name", "email", "phone", "company"] as const;

/** One person by hand; the rest is filled in where the person is shown. */
export function CreateDialog({ onClose }: { onClose: () => void }) {
  const [given, setGiven] = useState<Partial<Record<(typeof FIELDS)[number] | "externalId", string>>>({});
  const [, navigate] = useLocation();
  const { busy, problem, onSubmit } = useSubmit(async () => {
    const said = Object.fromEntries(Object.entries(given).filter(([, value]) => value));
    const made = await api.contacts.create(said);
    await invalidate("/v1/contacts", "/v1/audiences");
    toast(words.created);
    navigate(`/contacts/${made.id}`);
  });
  const elsewhere = problemElsewhere(problem, ["externalId", ...FIELDS]);
  const actions = (
    <>
      <Button onClick={onClose}>{text.common.cancel}</Button>
      <Button kind="primary" type="submit" form="create-contact" busy={busy}>
        {words.create}
      </Button>
    </>
  );
  return (
    <Dialog open onClose={onClose} title={words.create} actions={actions}>
      <form id="create-contact" onSubmit={onSubmit} style={{ display: "grid", gap: 12 }}>
        {FIELDS.map((name) => (
          <Field key={name} label={words.fields[name]} problem={problemAt(problem, name)} hint={name === "phone" ? words.hints.phone : undefined}>
            <TextInput value={given[name] ?? ""} onChange={(value) => setGiven({ ...given, [name]: value })} />
          </Field>
        ))}
        <Field label={words.id} hint={words.idHint} problem={problemAt(problem, "externalId")}>
          <TextInput mono value={given.externalId ?? ""} onChange={(value) => setGiven({ ...given, externalId: value })} />
        </Field>
        {elsewhere !== null && <Problem error={elsewhere} />}
      </form>
    </Dialog>
  );
}
