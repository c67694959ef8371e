import { useState } from "react";
import { useList } from "../../api/queries";
import { remove } from "../../api/request";
import { useSessionState } from "../../api/session";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { ConfirmDialog } from "../../ui/confirm-dialog";
import { Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Status } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";
import { browserOf } from "./browser";

interface OwnSession {
  id: string;
  userAgent?: string | null;
  address?: string | null;
  createdAt: string;
  lastSeenAt?: string | null;
  isCurrent?: boolean;
}

const COLUMNS: readonly Column<OwnSession>[] = [
  {
    id: "device",
    title: text.account.device,
    width: "minmax(0, 2fr)",
    cell: (one) => (one.isCurrent ? <Status state="active">{text.account.thisOne}</Status> : browserOf(one.userAgent)),
  },
  { id: "address", title: text.account.address, width: "minmax(0, 1fr)", cell: (one) => one.address },
  { id: "started", title: text.account.started, width: "110px", cell: (one) => <Time at={one.createdAt} /> },
  { id: "lastSeen", title: text.account.lastSeen, width: "110px", cell: (one) => <Time at={one.lastSeenAt} /> },
];

/** Every browser that is signed in as this person. */
export function Sessions() {
  const { rows, isLoading, error, more, reload } = useList<OwnSession>("/v1/sessions");
  const { reload: readSession } = useSessionState();
  const [asking, setAsking] = useState(false);
  const everywhere = (
    <Button small onClick={() => setAsking(true)}>
      {text.account.everywhere}
    </Button>
  );
  return (
    <Section title={text.account.sessions} about={text.account.sessionsAbout} actions={everywhere}>
      {error ? (
        <Problem error={error} onRetry={reload} />
      ) : (
        <Table
          label={text.account.sessions}
          columns={COLUMNS}
          rows={rows}
          rowKey={(one) => one.id}
          isLoading={isLoading}
          more={more}
          maxHeight={360}
        />
      )}
      <ConfirmDialog
        open={asking}
        onClose={() => setAsking(false)}
        title={text.account.everywhere}
        about={text.account.everywhereAbout}
        verb={text.account.everywhere}
        danger
        onConfirm={async () => {
          await remove("/v1/sessions");
          await readSession();
        }}
      />
    </Section>
  );
}
