import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../../api/client";
import { problemAt, problemElsewhere } from "../../api/problem";
import { useSessionState } from "../../api/session";
import { Entrance } from "../../shell/entrance";
import styles from "../../shell/entrance.module.css";
import { text } from "../../text";
import { Button, ButtonLink } from "../../ui/button";
import { Field } from "../../ui/field";
import { Problem } from "../../ui/problem";
import { TextInput } from "../../ui/text-input";
import { useSubmit } from "../../ui/use-submit";

/** The end of a one-time link, `/welcome#token`: the part after `#` never leaves the browser by itself. */
export default function Welcome() {
  const [token] = useState(() => window.location.hash.slice(1));
  if (token) return <WelcomeForm token={token} />;
  return (
    <Entrance title={text.welcome.noToken} about={text.welcome.noTokenAbout}>
      <div className={styles.form}>
        <ButtonLink href="/sign-in">{text.welcome.toSignIn}</ButtonLink>
      </div>
    </Entrance>
  );
}

function WelcomeForm({ token }: { token: string }) {
  const { begin } = useSessionState();
  const [, navigate] = useLocation();
  const [given, setGiven] = useState({ name: "", email: "", password: "" });
  const set = (name: keyof typeof given) => (value: string) => setGiven((now) => ({ ...now, [name]: value }));
  const { busy, problem, onSubmit } = useSubmit(async () => {
    const filled = Object.fromEntries(Object.entries(given).filter(([, value]) => value));
    begin(await api.sessions.redeem({ token, ...filled }));
    navigate("/", { replace: true });
  });
  const elsewhere = problemElsewhere(problem, ["name", "email", "password"]);
  return (
    <Entrance title={text.welcome.title} about={text.welcome.about}>
      <form className={styles.form} onSubmit={onSubmit}>
        <Field label={text.welcome.name} hint={text.welcome.nameHint} problem={problemAt(problem, "name")}>
          <TextInput autoComplete="name" autoFocus value={given.name} onChange={set("name")} />
        </Field>
        <Field label={text.welcome.email} hint={text.welcome.emailHint} problem={problemAt(problem, "email")}>
          <TextInput type="email" autoComplete="username" value={given.email} onChange={set("email")} />
        </Field>
        <Field label={text.welcome.password} hint={text.welcome.passwordHint} problem={problemAt(problem, "password")}>
          <TextInput type="password" autoComplete="new-password" value={given.password} onChange={set("password")} />
        </Field>
        {elsewhere !== null && <Problem error={elsewhere} />}
        <Button kind="primary" type="submit" busy={busy}>
          {text.welcome.submit}
        </Button>
      </form>
    </Entrance>
  );
}
