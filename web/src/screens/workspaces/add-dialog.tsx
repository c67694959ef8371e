import { useId, useState } from "react";
import { useLocation } from "wouter";
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
import { toast } from "../../ui/toast";
import { useSubmit } from "../../ui/use-submit";
import { pathOf } from "./path";
import styles from "./workspaces.module.css";

const words = text.workspaces;

/** A workspace begins with its settings. */
export function AddDialog({ onClose }: { onClose: () => void }) {
  const session = useSession();
  const formId = useId();
  const [, navigate] = useLocation();
  const [tenant, setTenant] = useState(session.tenant);
  const [workspace, setWorkspace] = useState("");
  const { busy, problem, onSubmit } = useSubmit(async () => {
    await api.workspaces.set(tenant.trim(), workspace.trim(), { weight: 1 });
    await invalidate("/v1/workspaces");
    toast(words.added);
    navigate(pathOf({ tenant: tenant.trim(), workspace: workspace.trim() }));
  });
  const elsewhere = problemElsewhere(problem, ["tenant", "workspace"]);
  const actions = (
    <>
      <Button onClick={onClose}>{text.common.cancel}</Button>
      <Button type="submit" form={formId} kind="primary" busy={busy} disabled={!tenant.trim() || !workspace.trim()}>
        {words.addSubmit}
      </Button>
    </>
  );
  return (
    <Dialog open onClose={onClose} title={words.add} about={words.addAbout} actions={actions}>
      <form id={formId} className={styles.form} onSubmit={onSubmit}>
        <Field label={words.workspace} hint={words.nameHint} problem={problemAt(problem, "workspace")} required>
          <TextInput value={workspace} onChange={setWorkspace} autoComplete="off" />
        </Field>
        <Field label={words.tenant} problem={problemAt(problem, "tenant")} required>
          <TextInput value={tenant} onChange={setTenant} autoComplete="off" />
        </Field>
        {elsewhere !== null && <Problem error={elsewhere} />}
      </form>
    </Dialog>
  );
}
