import type { Event } from "@tidings/client";
import { useList } from "../../api/queries";
import { text } from "../../text";
import { ButtonLink } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { FilterBar, type Filter } from "../../ui/filter-bar";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Status } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";
import { useQueryValues } from "../../ui/use-query";
import { countsOf } from "./model";

const words = text.events;
const EVERY_MS = 10_000;

const FILTERS: readonly Filter[] = [
  { kind: "text", name: "trigger", label: words.trigger, mono: true },
  { kind: "time", name: "createdAfter", label: words.since },
  { kind: "time", name: "createdBefore", label: words.until },
];

const COLUMNS: readonly Column<Event>[] = [
  { id: "trigger", title: words.trigger, width: "minmax(180px, 1fr)", cell: (row) => <code>{row.trigger}</code> },
  { id: "key", title: words.key, width: "minmax(160px, 1fr)", cell: (row) => <code>{row.idempotencyKey}</code> },
  { id: "decisions", title: words.decisions, width: "minmax(220px, 2fr)", cell: (row) => <Decisions event={row} /> },
  { id: "source", title: words.source, width: "100px", cell: (row) => row.source },
  { id: "created", title: words.created, width: "130px", cell: (row) => <Time at={row.createdAt} /> },
];

/** What programs reported, newest first, with what was decided. */
export default function Events() {
  const filters = useQueryValues(["trigger", "createdAfter", "createdBefore"]);
  const list = useList("GET /v1/events", { query: filters }, { every: EVERY_MS });
  const explain = <ButtonLink href="/events/explain">{words.explain}</ButtonLink>;
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <Page title={words.title} fill actions={explain} bar={<FilterBar filters={FILTERS} />}>
      {list.error ? (
        <Problem error={list.error} onRetry={list.reload} />
      ) : (
        <Table
          label={words.title}
          columns={COLUMNS}
          rows={list.rows}
          rowKey={(row) => row.id}
          href={(row) => `/events/${row.id}`}
          isLoading={list.isLoading}
          more={list.more}
          empty={isFiltered ? <EmptyState title={words.nothingFits} about="" /> : <EmptyState title={words.empty} about={words.emptyAbout} action={explain} />}
        />
      )}
    </Page>
  );
}

function Decisions({ event }: { event: Event }) {
  if (!event.routedAt) return <Status state="waiting">{words.notRouted}</Status>;
  return countsOf(event.decisions)
    .map(([outcome, count]) => words.count(text.rules.outcomes[outcome].toLowerCase(), count))
    .join(" · ");
}
