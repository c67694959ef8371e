import type { Segment } from "@tidings/client";
import { Plus } from "lucide-react";
import { useList } from "../../api/queries";
import { useMay } from "../../api/session";
import { text } from "../../text";
import { ButtonLink } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";

const words = text.segments;

const COLUMNS: readonly Column<Segment>[] = [
  { id: "name", title: words.name, width: "minmax(160px, 1fr)", cell: (one) => one.name },
  { id: "who", title: words.inWords, width: "minmax(240px, 3fr)", cell: (one) => <span title={one.inWords}>{one.inWords}</span> },
  { id: "changed", title: words.changed, width: "110px", cell: (one) => <Time at={one.updatedAt} /> },
];

/** Filters that have a name. */
export default function Segments() {
  const list = useList("GET /v1/segments", { query: { limit: 100 } });
  const create = useMay("define") && (
    <ButtonLink kind="primary" href="/segments/new" icon={<Plus size={14} aria-hidden />}>
      {words.create}
    </ButtonLink>
  );
  return (
    <Page title={words.title} actions={create} fill>
      {list.error ? (
        <Problem error={list.error} onRetry={list.reload} />
      ) : (
        <Table
          label={words.title}
          columns={COLUMNS}
          rows={list.rows}
          rowKey={(one) => one.id}
          href={(one) => `/segments/${one.id}`}
          isLoading={list.isLoading}
          more={list.more}
          empty={<EmptyState title={words.empty} about={words.emptyAbout} action={create} />}
        />
      )}
    </Page>
  );
}
