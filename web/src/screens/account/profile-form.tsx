import { useState } from "react";
import { problemAt, problemElsewhere } from "../../api/problem";
import { patch } from "../../api/request";
import { useSession, useSessionState } from "../../api/session";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { Field } from "../../ui/field";
import { Problem } from "../../ui/problem";
import { TextInput } from "../../ui/text-input";
import { toast } from "../../ui/toast";
import { useSubmit } from "../../ui/use-submit";
import styles from "./account.module.css";

/** The person's name and address. */
export function ProfileForm() {
  const { user } = useSession();
  const { reload } = useSessionState();
  const [name, setName] = useState(user.name);
  const [email, setEmail] = useState(user.email);
  const { busy, problem, onSubmit } = useSubmit(async () => {
    await patch("/v1/session/user", { name, email });
    await reload();
    toast(text.common.saved);
  });
  const elsewhere = problemElsewhere(problem, ["name", "email"]);
  const isChanged = name !== user.name || email !== user.email;
  return (
    <form className={styles.form} onSubmit={onSubmit}>
      <Field label={text.account.name} problem={problemAt(problem, "name")}>
        <TextInput autoComplete="name" value={name} onChange={setName} />
      </Field>
      <Field label={text.account.email} problem={problemAt(problem, "email")}>
        <TextInput type="email" autoComplete="email" value={email} onChange={setEmail} />
      </Field>
      {elsewhere !== null && <Problem error={elsewhere} />}
      <div>
        <Button type="submit" busy={busy} disabled={!isChanged}>
          {text.common.save}
        </Button>
      </div>
    </form>
  );
}
