import type { User, UserLink, WorkspaceRoles } from "@tidings/client";
import { UserPlus } from "lucide-react";
import { useState } from "react";
import { useList } from "../../api/queries";
import { useSession } from "../../api/session";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Tag } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";
import { InviteDialog } from "./invite-dialog";
import { LinkDialog } from "./link-dialog";
import { PartsNav } from "./parts-nav";
import styles from "./people.module.css";
import { PersonStatus } from "./person-status";
import { inOrder } from "./roles";

const words = text.people;

const COLUMNS: readonly Column<User>[] = [
  { id: "name", title: words.name, width: "minmax(160px, 1.2fr)", cell: (one) => <Name user={one} /> },
  { id: "email", title: words.email, width: "minmax(180px, 1.4fr)", cell: (one) => one.email ?? <span className={styles.quiet}>{words.noEmail}</span> },
  { id: "roles", title: words.roles, width: "minmax(220px, 2fr)", cell: (one) => <Roles user={one} /> },
  { id: "state", title: words.state, width: "120px", cell: (one) => <PersonStatus user={one} /> },
  { id: "signedIn", title: words.signedIn, width: "120px", cell: (one) => (one.signedInAt ? <Time at={one.signedInAt} /> : words.never) },
];

/** Who may sign in, and what they may do where. */
export default function People() {
  const list = useList("GET /v1/users", {});
  const [inviting, setInviting] = useState(false);
  const [made, setMade] = useState<UserLink | null>(null);
  const invite = (
    <Button kind="primary" icon={<UserPlus size={16} aria-hidden />} onClick={() => setInviting(true)}>
      {words.invite}
    </Button>
  );
  return (
    <Page title={words.title} actions={invite} fill bar={<PartsNav />}>
      {list.error ? (
        <Problem error={list.error} onRetry={list.reload} />
      ) : (
        <Table
          label={words.people}
          columns={COLUMNS}
          rows={list.rows}
          rowKey={(one) => one.id}
          href={(one) => `/people/${one.id}`}
          isLoading={list.isLoading}
          more={list.more}
          empty={<EmptyState title={words.emptyTitle} about={words.emptyAbout} action={invite} />}
        />
      )}
      {inviting && (
        <InviteDialog
          onClose={() => setInviting(false)}
          onInvited={(link) => {
            setInviting(false);
            setMade(link);
          }}
        />
      )}
      {made && <LinkDialog made={made} onClose={() => setMade(null)} />}
    </Page>
  );
}

function Name({ user }: { user: User }) {
  const { user: own } = useSession();
  return (
    <>
      {user.name} {own.id === user.id && <Tag>{words.you}</Tag>}
    </>
  );
}

function inWords(one: WorkspaceRoles): string {
  return `${one.workspace}: ${inOrder(one.roles).map((role) => text.roles.names[role]).join(", ")}`;
}

function Roles({ user }: { user: User }) {
  return (
    <span className={styles.roles} title={user.workspaces.map(inWords).join("; ")}>
      {user.workspaces.map((one) => (
        <span key={one.workspace}>
          <span className={styles.quiet}>{one.workspace}</span> {inOrder(one.roles).map((role) => text.roles.names[role]).join(", ")}
        </span>
      ))}
    </span>
  );
}
