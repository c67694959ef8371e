import { useState } from "react";
import { api } from "../../api/client";
import { problemAt, problemElsewhere } from "../../api/problem";
import { useSession, useSessionState } from "../../api/session";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { Field } from "../../ui/field";
import { Problem } from "../../ui/problem";
import { TextInput } from "../../ui/text-input";
import { toast } from "../../ui/toast";
import { useSubmit } from "../../ui/use-submit";
import styles from "./account.module.css";

/** The person's name; their address is an administrator's affair. */
export function ProfileForm() {
  const { user } = useSession();
  const { begin } = useSessionState();
  const [name, setName] = useState(user.name);
  const { busy, problem, onSubmit } = useSubmit(async () => {
    begin(await api.session.updateUser({ name }));
    toast(text.common.saved);
  });
  const elsewhere = problemElsewhere(problem, ["name"]);
  return (
    <form className={styles.form} onSubmit={onSubmit}>
      <Field label={text.account.name} problem={problemAt(problem, "name")}>
        <TextInput autoComplete="name" value={name} onChange={setName} />
      </Field>
      <Field label={text.account.email} hint={text.account.emailHint}>
        <TextInput type="email" value={user.email ?? ""} disabled />
      </Field>
      {elsewhere !== null && <Problem error={elsewhere} />}
      <div>
        <Button type="submit" busy={busy} disabled={!name || name === user.name}>
          {text.common.save}
        </Button>
      </div>
    </form>
  );
}
