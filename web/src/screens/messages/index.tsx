import type { Channel, ItemStatus } from "@tidings/client";
import { useList } from "../../api/queries";
import { ContactFilter } from "../../parts/work/contact-filter";
import { CHANNELS, optionsOf } from "../../parts/work/names";
import { TimeRange } from "../../parts/work/time-range";
import { text } from "../../text";
import { EmptyState } from "../../ui/empty-state";
import { type Filter, FilterBar } from "../../ui/filter-bar";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Table } from "../../ui/table";
import { useQueryValues } from "../../ui/use-query";
import { COLUMN } from "./columns";

const words = text.messages;
const EVERY_MS = 4_000;
const PAGE = 200;
const STATUSES = ["queued", "sent", "called", "posted", "failed", "skipped"] as const;
const NAMES = ["status", "channel", "contactId", "createdAfter", "createdBefore"];
const COLUMNS = [COLUMN.recipient, COLUMN.status, COLUMN.contact, COLUMN.source, COLUMN.channel, COLUMN.provider, COLUMN.error, COLUMN.created, COLUMN.id];

const FILTERS: readonly Filter[] = [
  { kind: "select", name: "status", label: text.executions.anyStatus, options: optionsOf(text.work.statuses, STATUSES) },
  { kind: "select", name: "channel", label: text.inDoubt.anyChannel, options: optionsOf(text.work.channels, CHANNELS) },
];

/** Every message and call, the newest first. */
export default function Messages() {
  const { status, channel, ...filters } = useQueryValues(NAMES);
  const given = { ...filters, ...(status ? { status: status as ItemStatus } : {}), ...(channel ? { channel: channel as Channel } : {}) };
  const list = useList("GET /v1/outbox", { query: { ...given, limit: PAGE } }, { every: EVERY_MS });
  const isFiltered = Object.keys(given).length > 0;
  const bar = (
    <FilterBar filters={FILTERS}>
      <ContactFilter />
      <TimeRange />
    </FilterBar>
  );
  return (
    <Page title={words.title} fill bar={bar}>
      {list.error ? (
        <Problem error={list.error} onRetry={list.reload} />
      ) : (
        <Table
          label={words.title}
          columns={COLUMNS}
          rows={list.rows}
          rowKey={(one) => one.id}
          href={(one) => `/outbox/${one.id}`}
          isLoading={list.isLoading}
          more={list.more}
          empty={isFiltered ? <EmptyState title={words.nothingFits} about={text.executions.nothingFitsAbout} /> : <EmptyState title={words.empty} about={words.emptyAbout} />}
        />
      )}
    </Page>
  );
}
