import type { UserLink, WorkspaceRoles } from "@tidings/client";
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
import { TextInput } from "../../ui/text-input";
import { useSubmit } from "../../ui/use-submit";
import styles from "./people.module.css";
import { RolesEditor } from "./roles-editor";

const words = text.people.form;

/** Somebody's address, name and roles; the answer holds their one-time link. */
export function InviteDialog({ onClose, onInvited }: { onClose: () => void; onInvited: (made: UserLink) => void }) {
  const { workspace } = useSession();
  const formId = useId();
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [workspaces, setWorkspaces] = useState<WorkspaceRoles[]>(workspace ? [{ workspace, roles: ["reader"] }] : []);
  const { busy, problem, onSubmit } = useSubmit(async () => {
    const made = await api.users.invite({ email, name, workspaces: given(workspaces) });
    void invalidate("/v1/users");
    onInvited(made);
  });
  const elsewhere = problemElsewhere(problem, ["email", "name"]);
  const isWhole = Boolean(email && name) && workspaces.every((one) => one.roles.length > 0);
  const actions = (
    <>
      <Button onClick={onClose}>{text.common.cancel}</Button>
      <Button type="submit" form={formId} kind="primary" busy={busy} disabled={!isWhole}>
        {words.submit}
      </Button>
    </>
  );
  return (
    <Dialog open onClose={onClose} title={words.title} about={words.about} actions={actions}>
      <form id={formId} className={styles.form} onSubmit={onSubmit} noValidate>
        <Field label={words.email} problem={problemAt(problem, "email")} required>
          <TextInput type="email" autoComplete="off" value={email} onChange={setEmail} />
        </Field>
        <Field label={words.name} hint={words.nameHint} problem={problemAt(problem, "name")} required>
          <TextInput autoComplete="off" value={name} onChange={setName} />
        </Field>
        <div className={styles.form}>
          <div>
            <h3>{words.workspaces}</h3>
            <p className={styles.quiet}>{words.workspacesAbout}</p>
          </div>
          <RolesEditor value={workspaces} onChange={setWorkspaces} />
        </div>
        {elsewhere !== null && <Problem error={elsewhere} />}
      </form>
    </Dialog>
  );
}

/** The roles as the API takes them: it knows each of those that are offered here. */
export function given(workspaces: readonly WorkspaceRoles[]): WorkspaceRoles[] {
  return workspaces.map(({ workspace, roles }) => ({ workspace, roles }));
}
