import type { Item } from "@tidings/client";
import { useList } from "../../api/queries";
import { channelWord } from "../../parts/channel-word";
import { text } from "../../text";
import { EmptyState } from "../../ui/empty-state";
import { Problem } from "../../ui/problem";
import { Status } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";

const words = text.contacts;

const COLUMNS: readonly Column<Item>[] = [
  { id: "when", title: words.when, width: "110px", cell: (one) => <Time at={one.finalizedAt ?? one.createdAt} /> },
  { id: "channel", title: words.channel, width: "90px", cell: (one) => channelWord(one.channel) },
  { id: "from", title: words.from, width: "minmax(120px, 1.4fr)", cell: (one) => one.campaignName ?? one.workflowName ?? one.trigger ?? words.test },
  { id: "outcome", title: words.outcome, width: "120px", cell: (one) => <Status state={one.inDoubt ? "inDoubt" : one.status} /> },
  { id: "why", title: words.why, width: "minmax(140px, 2fr)", cell: (one) => <span title={one.error ?? undefined}>{one.error}</span> },
  { id: "address", title: words.address, width: "minmax(120px, 1.4fr)", cell: (one) => one.recipient },
];

/** Everything that was ever meant for the person, and why it was not sent. */
export function Messages({ id }: { id: string }) {
  const list = useList("GET /v1/contacts/{id}/items", { path: { id }, query: { limit: 100 } });
  if (list.error) return <Problem error={list.error} onRetry={list.reload} />;
  return (
    <Table
      label={words.messages}
      columns={COLUMNS}
      rows={list.rows}
      rowKey={(one) => one.id}
      href={(one) => `/outbox/${one.id}`}
      isLoading={list.isLoading}
      more={list.more}
      maxHeight={620}
      empty={<EmptyState title={words.messagesEmpty} about={words.messagesEmptyAbout} />}
    />
  );
}
