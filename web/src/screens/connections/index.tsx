import type { ProviderConnection } from "@tidings/client";
import { Plus } from "lucide-react";
import { useRead } from "../../api/queries";
import { useMay } from "../../api/session";
import { text } from "../../text";
import { ButtonLink } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { FilterBar, type Filter } from "../../ui/filter-bar";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Tag } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Tooltip } from "../../ui/tooltip";
import { useQueryValues } from "../../ui/use-query";
import { ConnectionState, Rest } from "./state";
import { limitsInWords } from "./words";

const EVERY_MS = 10_000;
const NOTHING: readonly ProviderConnection[] = [];

const FILTERS: readonly Filter[] = [
  { kind: "select", name: "channel", label: text.connections.anyChannel, options: optionsOf(text.channels) },
  { kind: "select", name: "state", label: text.connections.anyState, options: optionsOf(text.connections.states) },
];

function optionsOf(names: Readonly<Record<string, string>>) {
  return Object.entries(names).map(([value, label]) => ({ value, label }));
}

const COLUMNS: readonly Column<ProviderConnection>[] = [
  {
    id: "name",
    title: text.connections.name,
    width: "minmax(160px, 1.4fr)",
    cell: (one) => one.name,
  },
  { id: "channel", title: text.connections.channel, width: "96px", cell: (one) => text.channels[one.channel] ?? one.channel },
  { id: "kind", title: text.connections.kind, width: "minmax(120px, 1fr)", cell: (one) => <Kind one={one} /> },
  { id: "state", title: text.connections.state, width: "160px", cell: (one) => <ConnectionState one={one} /> },
  { id: "order", title: text.connections.order, width: "104px", cell: (one) => !one.operators && text.connections.place(one.position, one.weight) },
  { id: "limits", title: text.connections.limits, width: "minmax(150px, 1.3fr)", cell: (one) => limitsInWords(one.limits) || "–" },
  { id: "health", title: text.connections.health, width: "minmax(160px, 1.6fr)", cell: (one) => <Rest one={one} /> },
];

/** What the workspace sends through, in the order in which it is tried. */
export default function Connections() {
  const { data, isPending, error, refetch } = useRead("GET /v1/connections", {}, { every: EVERY_MS });
  const filters = useQueryValues(["channel", "state"]);
  const mayChange = useMay("administer");
  const all = data?.data ?? NOTHING;
  const rows = all.filter((one) => fits(one.channel, filters["channel"]) && fits(one.state, filters["state"]));
  const add = mayChange && (
    <ButtonLink href="/connections/new" kind="primary" icon={<Plus size={16} aria-hidden />}>
      {text.connections.add}
    </ButtonLink>
  );
  return (
    <Page title={text.connections.title} count={data && all.length} actions={add} fill bar={<FilterBar filters={FILTERS} />}>
      {error ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : (
        <Table
          label={text.connections.title}
          columns={COLUMNS}
          rows={rows}
          rowKey={(one) => one.id}
          href={(one) => `/connections/${one.id}`}
          isLoading={isPending}
          empty={
            all.length ? (
              <EmptyState title={text.connections.noneFits} about={text.connections.noneFitsAbout} />
            ) : (
              <EmptyState title={text.connections.emptyTitle} about={text.connections.emptyAbout} action={add} />
            )
          }
        />
      )}
    </Page>
  );
}

function fits(value: string, wanted: string | undefined): boolean {
  return !wanted || value === wanted;
}

function Kind({ one }: { one: ProviderConnection }) {
  if (!one.operators) return one.provider;
  return (
    <Tooltip text={text.connections.operatorsAbout}>
      <span>
        <Tag>{text.connections.operators}</Tag>
      </span>
    </Tooltip>
  );
}
