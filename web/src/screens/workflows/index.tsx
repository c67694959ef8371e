import { Plus } from "lucide-react";
import { useState } from "react";
import { useList } from "../../api/queries";
import { useMay } from "../../api/session";
import { useShortcuts } from "../../shell/keys";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { FilterBar, type Filter } from "../../ui/filter-bar";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Status, Tag } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";
import { useQueryValue } from "../../ui/use-query";
import { NewDialog } from "./dialogs/new-dialog";
import { type ListedRow, rowsOf } from "./model/rows";

const words = text.workflows;

const FILTERS: readonly Filter[] = [
  { kind: "search", name: "search", label: words.search },
  {
    kind: "select",
    name: "status",
    label: words.status,
    options: [
      { value: "active", label: words.active },
      { value: "inactive", label: words.inactive },
      { value: "draft", label: words.draft },
    ],
  },
];

const COLUMNS: readonly Column<ListedRow>[] = [
  { id: "name", title: words.name, width: "minmax(220px, 2fr)", cell: (row) => row.name },
  { id: "status", title: words.status, width: "minmax(120px, 1fr)", cell: (row) => <State row={row} /> },
  { id: "draft", title: words.draft, width: "minmax(160px, 1fr)", cell: (row) => (row.draft && row.version ? <Tag tone="info">{words.changed}</Tag> : null) },
  { id: "version", title: words.version, width: "90px", align: "end", cell: (row) => row.version || "–" },
  { id: "nodes", title: words.nodes, width: "80px", align: "end", cell: (row) => row.nodes ?? "–" },
  { id: "updated", title: words.updated, width: "140px", cell: (row) => <Time at={row.updatedAt} /> },
];

/** Every workflow of the workspace, and those that are only begun. */
export default function Workflows() {
  const canEdit = useMay("define");
  const [search] = useQueryValue("search");
  const [status] = useQueryValue("status");
  const [isNew, setNew] = useQueryValue("new");
  const [creates, setCreates] = useState(0);
  const workflows = useList("GET /v1/workflows", { query: { limit: 200 } });
  const drafts = useList("GET /v1/workflows/drafts", { query: { limit: 200 } });
  const rows = rowsOf(workflows.rows, drafts.rows, { search, status });
  const begin = () => {
    setCreates(creates + 1);
    setNew("1");
  };
  useShortcuts(canEdit ? [{ keys: "n", label: words.create, run: begin }] : []);
  const create = (
    <Button kind="primary" icon={<Plus size={15} aria-hidden />} onClick={begin}>
      {words.create}
    </Button>
  );
  const error = workflows.error ?? drafts.error;
  const isFiltered = Boolean(search || status);
  return (
    <Page title={words.title} count={workflows.isLoading ? undefined : rows.length} fill actions={canEdit && create} bar={<FilterBar filters={FILTERS} />}>
      {error ? (
        <Problem error={error} onRetry={workflows.reload} />
      ) : (
        <Table
          label={words.title}
          columns={COLUMNS}
          rows={rows}
          rowKey={(row) => row.id}
          href={(row) => (row.version ? `/workflows/${row.id}` : `/workflows/${row.id}/edit`)}
          isLoading={workflows.isLoading || drafts.isLoading}
          more={workflows.more}
          empty={isFiltered ? <EmptyState title={words.nothingFits} about="" /> : <EmptyState title={words.empty} about={words.emptyAbout} action={canEdit && create} />}
        />
      )}
      {canEdit && isNew && <NewDialog key={creates} onClose={() => setNew("")} />}
    </Page>
  );
}

function State({ row }: { row: ListedRow }) {
  if (!row.version) return <Status state="draft">{words.draftOnly}</Status>;
  if (row.notReady.length) return <Status state="warn" tone="warn">{words.notReady(row.notReady.join(", "))}</Status>;
  return <Status state={row.active ? "active" : "inactive"}>{row.active ? words.active : words.inactive}</Status>;
}
