import type { User, UserLink, WorkspaceRoles } from "@tidings/client";
import { useState } from "react";
import { api } from "../../api/client";
import { problemAt, problemElsewhere } from "../../api/problem";
import { invalidate, isNotFound, useRead } from "../../api/queries";
import { useSession, useSessionState } from "../../api/session";
import { text } from "../../text";
import { Button, ButtonLink } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { Field } from "../../ui/field";
import { Id } from "../../ui/id";
import { KeyValue } from "../../ui/key-value";
import { Page, Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { TextInput } from "../../ui/text-input";
import { Time } from "../../ui/time";
import { toast } from "../../ui/toast";
import { useSubmit } from "../../ui/use-submit";
import type { ScreenProps } from "../registry";
import { PersonActions } from "./actions";
import { given } from "./invite-dialog";
import { LinkDialog } from "./link-dialog";
import styles from "./people.module.css";
import { PersonStatus } from "./person-status";
import { isOperator, isSame } from "./roles";
import { RolesEditor } from "./roles-editor";

const words = text.people.detail;
const BACK = { href: "/people", label: text.people.title };

/** One person: their profile, their roles, and the ways to lock them out. */
export default function Person({ params }: ScreenProps) {
  const { data, error, refetch } = useRead("GET /v1/users/{id}", { path: { id: params["id"] ?? "" } });
  const [made, setMade] = useState<UserLink | null>(null);
  const session = useSession();
  if (!data) {
    return (
      <Page title={text.people.people} back={BACK}>
        {error ? <Missing error={error} onRetry={() => void refetch()} /> : <Skeleton lines={6} />}
      </Page>
    );
  }
  const mayChange = session.isOperator || !isOperator(data);
  return (
    <Page
      title={data.name}
      back={BACK}
      narrow
      status={<PersonStatus user={data} />}
      actions={mayChange && <PersonActions user={data} onLink={setMade} />}
    >
      {!mayChange && <p className={styles.quiet}>{words.operatorOnly}</p>}
      <Section title={words.profile}>
        <Profile key={`${data.name}:${data.email}`} user={data} mayChange={mayChange} />
      </Section>
      <Section title={text.people.form.workspaces} about={text.people.form.workspacesAbout}>
        <Roles key={JSON.stringify(data.workspaces)} user={data} mayChange={mayChange} />
      </Section>
      <About user={data} />
      {made && <LinkDialog made={made} onClose={() => setMade(null)} />}
    </Page>
  );
}

function Missing({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  if (!isNotFound(error)) return <Problem error={error} onRetry={onRetry} />;
  return <EmptyState title={words.notFound} about={words.notFoundAbout} action={<ButtonLink href="/people">{words.toList}</ButtonLink>} />;
}

/** After a change of a person: their own page reads its session again. */
function useChanged(user: User): () => Promise<void> {
  const { user: own } = useSession();
  const { reload } = useSessionState();
  return async () => {
    await invalidate("/v1/users");
    toast(text.common.saved);
    if (user.id === own.id) await reload();
  };
}

function Profile({ user, mayChange }: { user: User; mayChange: boolean }) {
  const [name, setName] = useState(user.name);
  const [email, setEmail] = useState(user.email ?? "");
  const changed = useChanged(user);
  const isChanged = name !== user.name || email !== (user.email ?? "");
  const { busy, problem, onSubmit } = useSubmit(async () => {
    await api.users.update(user.id, { ...(name !== user.name ? { name } : {}), ...(email !== (user.email ?? "") ? { email } : {}) });
    await changed();
  });
  const elsewhere = problemElsewhere(problem, ["name", "email"]);
  return (
    <form className={styles.form} onSubmit={onSubmit} noValidate>
      <Field label={text.people.name} problem={problemAt(problem, "name")}>
        <TextInput value={name} onChange={setName} disabled={!mayChange} autoComplete="off" />
      </Field>
      <Field label={text.people.email} problem={problemAt(problem, "email")}>
        <TextInput type="email" value={email} onChange={setEmail} disabled={!mayChange} autoComplete="off" />
      </Field>
      {elsewhere !== null && <Problem error={elsewhere} />}
      {mayChange && (
        <div>
          <Button type="submit" busy={busy} disabled={!isChanged || !name}>
            {text.common.save}
          </Button>
        </div>
      )}
    </form>
  );
}

function Roles({ user, mayChange }: { user: User; mayChange: boolean }) {
  const [workspaces, setWorkspaces] = useState<WorkspaceRoles[]>(user.workspaces);
  const changed = useChanged(user);
  const { busy, problem, onSubmit } = useSubmit(async () => {
    await api.users.update(user.id, { workspaces: given(workspaces) });
    await changed();
  });
  const isWhole = workspaces.every((one) => one.roles.length > 0);
  return (
    <form className={styles.form} onSubmit={onSubmit}>
      <RolesEditor value={workspaces} onChange={setWorkspaces} disabled={!mayChange} />
      {problem !== null && <Problem error={problem} />}
      {mayChange && (
        <div>
          <Button type="submit" busy={busy} disabled={!isWhole || isSame(workspaces, user.workspaces)}>
            {text.common.save}
          </Button>
        </div>
      )}
    </form>
  );
}

function About({ user }: { user: User }) {
  const did = user.email && (
    <ButtonLink small href={`/audit-log?actor=${encodeURIComponent(`user:${user.email}`)}`}>
      {words.did}
    </ButtonLink>
  );
  return (
    <Section title={words.about} actions={did}>
      <KeyValue
        pairs={[
          [words.password, user.hasPassword ? words.hasPassword : words.noPassword],
          [text.people.signedIn, user.signedInAt ? <Time at={user.signedInAt} /> : text.people.never],
          [words.linkUntil, user.linkExpiresAt && <Time at={user.linkExpiresAt} />],
          [words.disabledAt, user.disabledAt && <Time at={user.disabledAt} />],
          [words.since, <Time key="since" at={user.createdAt} />],
          [words.by, user.createdBy],
          ["ID", <Id key="id" id={user.id} whole />],
        ]}
      />
    </Section>
  );
}
