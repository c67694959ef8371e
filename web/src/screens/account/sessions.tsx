import type { OpenSession } from "@tidings/client";
import { useState } from "react";
import { api } from "../../api/client";
import { useRead } from "../../api/queries";
import { useSessionState } from "../../api/session";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { ConfirmDialog } from "../../ui/confirm-dialog";
import { Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Tag } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";
import { browserOf } from "./browser";

const COLUMNS: readonly Column<OpenSession>[] = [
  {
    id: "device",
    title: text.account.device,
    width: "minmax(0, 2fr)",
    cell: (one) => (<>
        {browserOf(one.userAgent)} {one.current && <Tag tone="good">{text.account.thisOne}</Tag>}
      </>),
  },
  { id: "via", title: text.account.via, width: "minmax(0, 1fr)", cell: (one) => one.via },
  { id: "started", title: text.account.started, width: "110px", cell: (one) => <Time at={one.createdAt} /> },
  { id: "lastSeen", title: text.account.lastSeen, width: "110px", cell: (one) => <Time at={one.lastUsedAt} /> },
];

/** Every browser that is signed in as this person. */
export function Sessions() {
  const { data, isPending, error, refetch } = useRead("GET /v1/sessions", {});
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
        <Problem error={error} onRetry={() => void refetch()} />
      ) : (
        <Table
          label={text.account.sessions}
          columns={COLUMNS}
          rows={data?.data ?? []}
          rowKey={(one) => one.id}
          isLoading={isPending}
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
          await api.sessions.signOutEverywhere();
          await readSession();
        }}
      />
    </Section>
  );
}
