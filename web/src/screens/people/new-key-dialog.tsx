import type { CreatedKey } from "@tidings/client";
import { useId, useState } from "react";
import { api } from "../../api/client";
import { problemAt, problemElsewhere } from "../../api/problem";
import { invalidate } from "../../api/queries";
import { useSession } from "../../api/session";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Field } from "../../ui/field";
import { Problem } from "../../ui/problem";
import { Select } from "../../ui/select";
import { TextArea, TextInput } from "../../ui/text-input";
import { useSubmit } from "../../ui/use-submit";
import { givenKey, type KeyDraft } from "./key-state";
import styles from "./people.module.css";
import { ROLES_OF_KEYS, rolesToGive } from "./roles";
import { useWorkspaces } from "./roles-editor";

const words = text.apiKeys.form;
const PLACES = ["name", "role", "workspace", "expiresAt", "workflows", "origins"];

/** What a key is for and what it may; its secret is in the answer alone. */
export function NewKeyDialog({ onClose, onMade }: { onClose: () => void; onMade: (made: CreatedKey) => void }) {
  const session = useSession();
  const formId = useId();
  const [draft, setDraft] = useState<KeyDraft>({
    name: "",
    role: "triggerOperator",
    workspace: session.workspace ?? "",
    expires: "",
    workflows: "",
    origins: "",
  });
  const change = (more: Partial<KeyDraft>) => setDraft((now) => ({ ...now, ...more }));
  const { busy, problem, onSubmit } = useSubmit(async () => {
    const made = await api.keys.create(givenKey(draft));
    void invalidate("/v1/api-keys");
    onMade(made);
  });
  const elsewhere = problemElsewhere(problem, PLACES);
  const actions = (
    <>
      <Button onClick={onClose}>{text.common.cancel}</Button>
      <Button type="submit" form={formId} kind="primary" busy={busy} disabled={!draft.name.trim()}>
        {words.submit}
      </Button>
    </>
  );
  return (
    <Dialog open onClose={onClose} title={words.title} about={words.about} actions={actions}>
      <form id={formId} className={styles.form} onSubmit={onSubmit} noValidate>
        <Field label={words.name} hint={words.nameHint} problem={problemAt(problem, "name")} required>
          <TextInput value={draft.name} onChange={(name) => change({ name })} autoComplete="off" />
        </Field>
        <Reach draft={draft} problem={problem} onChange={change} />
        <Field label={words.expires} hint={words.expiresHint} problem={problemAt(problem, "expiresAt")}>
          <TextInput type="datetime-local" value={draft.expires} onChange={(expires) => change({ expires })} />
        </Field>
        {draft.role === "publishable" && <Publishable draft={draft} problem={problem} onChange={change} />}
        {elsewhere !== null && <Problem error={elsewhere} />}
      </form>
    </Dialog>
  );
}

interface PartProps {
  draft: KeyDraft;
  problem: unknown;
  onChange: (more: Partial<KeyDraft>) => void;
}

function Reach({ draft, problem, onChange }: PartProps) {
  const { isOperator } = useSession();
  const workspaces = useWorkspaces();
  const roles = rolesToGive(ROLES_OF_KEYS, isOperator);
  return (
    <>
      <Field label={words.role} hint={text.roles.about[draft.role]} problem={problemAt(problem, "role")}>
        <Select
          value={draft.role}
          options={roles.map((value) => ({ value, label: text.roles.names[value] ?? value }))}
          onChange={(role) => onChange({ role })}
        />
      </Field>
      <Field label={words.workspace} problem={problemAt(problem, "workspace")}>
        <Select
          value={draft.workspace}
          options={workspaces.map((value) => ({ value, label: value }))}
          onChange={(workspace) => onChange({ workspace })}
        />
      </Field>
    </>
  );
}

function Publishable({ draft, problem, onChange }: PartProps) {
  return (
    <>
      <Field label={words.workflows} hint={words.workflowsHint} problem={problemAt(problem, "workflows")} required>
        <TextArea rows={3} value={draft.workflows} onChange={(workflows) => onChange({ workflows })} spellCheck={false} />
      </Field>
      <Field label={words.origins} hint={words.originsHint} problem={problemAt(problem, "origins")}>
        <TextArea rows={2} mono value={draft.origins} onChange={(origins) => onChange({ origins })} spellCheck={false} />
      </Field>
    </>
  );
}
