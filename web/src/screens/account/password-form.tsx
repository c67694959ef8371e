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

/** A new password, for somebody who knows the current one. */
export function PasswordForm() {
  const { user } = useSession();
  const { begin } = useSessionState();
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const { busy, problem, onSubmit } = useSubmit(async () => {
    begin(await api.session.updateUser({ password: next, ...(user.hasPassword ? { currentPassword: current } : {}) }));
    setCurrent("");
    setNext("");
    toast(text.account.changed);
  });
  const elsewhere = problemElsewhere(problem, ["currentPassword", "password"]);
  return (
    <form className={styles.form} onSubmit={onSubmit}>
      <input type="email" autoComplete="username" value={user.email ?? ""} readOnly hidden />
      {user.hasPassword && (
        <Field label={text.account.current} problem={problemAt(problem, "currentPassword")}>
          <TextInput type="password" autoComplete="current-password" value={current} onChange={setCurrent} />
        </Field>
      )}
      <Field label={text.account.next} hint={text.account.nextHint} problem={problemAt(problem, "password")}>
        <TextInput type="password" autoComplete="new-password" value={next} onChange={setNext} />
      </Field>
      {elsewhere !== null && <Problem error={elsewhere} />}
      <div>
        <Button type="submit" busy={busy} disabled={!next}>
          {text.account.change}
        </Button>
      </div>
    </form>
  );
}
