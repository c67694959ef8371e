import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client";
import { problemAt, problemElsewhere } from "../../api/problem";
import { useSessionState } from "../../api/session";
import { Entrance } from "../../shell/entrance";
import styles from "../../shell/entrance.module.css";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { Field } from "../../ui/field";
import { Problem } from "../../ui/problem";
import { TextInput } from "../../ui/text-input";
import { useSubmit } from "../../ui/use-submit";

/** By password, or through whoever else vouches for the person. */
export default function SignIn() {
  const ways = useQuery({ queryKey: ["sign-in"], queryFn: () => api.signIn.get(), staleTime: 60_000 });
  const { password = true, oidc = [] } = ways.data ?? {};
  return (
    <Entrance title={text.signIn.title}>
      {password && <PasswordForm />}
      {password && oidc.length > 0 && <div className={styles.or}>{text.signIn.or}</div>}
      <div className={styles.ways}>
        {oidc.map((one) => (
          <Button key={one.name} onClick={() => window.location.assign(one.url)}>
            {one.label}
          </Button>
        ))}
      </div>
      {password && <p className={styles.note}>{text.signIn.forgotten}</p>}
    </Entrance>
  );
}

function PasswordForm() {
  const { begin } = useSessionState();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const { busy, problem, onSubmit } = useSubmit(async () => begin(await api.sessions.signIn({ email, password })));
  const elsewhere = problemElsewhere(problem, ["email", "password"]);
  return (
    <form className={styles.form} onSubmit={onSubmit}>
      <Field label={text.signIn.email} problem={problemAt(problem, "email")}>
        <TextInput type="email" autoComplete="username" required autoFocus value={email} onChange={setEmail} />
      </Field>
      <Field label={text.signIn.password} problem={problemAt(problem, "password")}>
        <TextInput type="password" autoComplete="current-password" required value={password} onChange={setPassword} />
      </Field>
      {elsewhere !== null && <Problem error={elsewhere} />}
      <Button kind="primary" type="submit" busy={busy}>
        {text.signIn.submit}
      </Button>
    </form>
  );
}
