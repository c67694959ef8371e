import type { Contact } from "@tidings/client";
import { Plus, Upload } from "lucide-react";
import { useState } from "react";
import { useList } from "../../api/queries";
import { useMay } from "../../api/session";
import { useCount } from "../../parts/audience/use-count";
import { text } from "../../text";
import { Button, ButtonLink } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { type Filter as BarFilter, FilterBar } from "../../ui/filter-bar";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Tag } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";
import { useQueryValues } from "../../ui/use-query";
import { CreateDialog } from "./create-dialog";
import { FilterDialog } from "./filter-dialog";
import { countedFilter } from "./where";

const words = text.contacts;

const FILTERS: readonly BarFilter[] = [
  { kind: "search", name: "text", label: words.search },
  { kind: "text", name: "tag", label: words.tag },
  { kind: "text", name: "company", label: words.company },
  { kind: "text", name: "status", label: words.status },
];

const COLUMNS: readonly Column<Contact>[] = [
  { id: "name", title: words.columns.name, width: "minmax(160px, 2fr)", cell: (one) => one.name ?? one.externalId },
  { id: "email", title: words.columns.email, width: "minmax(160px, 2.4fr)", cell: (one) => one.email },
  { id: "phone", title: words.columns.phone, width: "140px", cell: (one) => one.phone },
  { id: "company", title: words.columns.company, width: "minmax(100px, 1.2fr)", cell: (one) => one.company },
  { id: "tags", title: words.columns.tags, width: "minmax(120px, 1.4fr)", cell: (one) => <Tags tags={one.tags} /> },
  { id: "status", title: words.columns.status, width: "90px", cell: (one) => one.status },
  { id: "added", title: words.columns.added, width: "110px", cell: (one) => <Time at={one.createdAt} /> },
];

/** Everybody there is to write to, narrowed by words or by a filter. */
export default function Contacts() {
  const asked = useQueryValues(["text", "tag", "company", "status", "where"]);
  const list = useList("GET /v1/contacts", { query: { ...asked, limit: 100 } });
  const mayChange = useMay("contacts");
  const [creating, setCreating] = useState(false);
  const counted = useCount(countedFilter(asked), { sample: 0 });
  const isFiltered = Object.keys(asked).length > 0;
  const actions = mayChange && (
    <>
      <Button icon={<Plus size={14} aria-hidden />} onClick={() => setCreating(true)}>
        {words.create}
      </Button>
      <ButtonLink kind="primary" href="/contacts/import" icon={<Upload size={14} aria-hidden />}>
        {words.import}
      </ButtonLink>
    </>
  );
  const empty = isFiltered ? (
    <EmptyState title={words.nobody} about={words.nobodyAbout} />
  ) : (
    <EmptyState title={words.empty} about={words.emptyAbout} action={mayChange && <ButtonLink href="/contacts/import">{words.import}</ButtonLink>} />
  );
  return (
    <Page
      title={words.title}
      count={counted.data ? words.count(counted.data.matching) : undefined}
      actions={actions}
      bar={
        <FilterBar filters={FILTERS}>
          <FilterDialog />
        </FilterBar>
      }
      fill
    >
      {list.error ? (
        <Problem error={list.error} onRetry={list.reload} />
      ) : (
        <Table
          label={words.title}
          columns={COLUMNS}
          rows={list.rows}
          rowKey={(one) => one.id}
          href={(one) => `/contacts/${one.id}`}
          isLoading={list.isLoading}
          more={list.more}
          empty={empty}
        />
      )}
      {creating && <CreateDialog onClose={() => setCreating(false)} />}
    </Page>
  );
}

function Tags({ tags }: { tags: readonly string[] }) {
  return (
    <span style={{ display: "inline-flex", gap: 4 }}>
      {tags.map((tag) => (
        <Tag key={tag}>{tag}</Tag>
      ))}
    </span>
  );
}
