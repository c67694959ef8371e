import type { WorkspaceSettings } from "@tidings/client";
import { Plus } from "lucide-react";
import { useState } from "react";
import { useRead } from "../../api/queries";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { FilterBar } from "../../ui/filter-bar";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";
import { count } from "../../ui/times";
import { useQueryValue } from "../../ui/use-query";
import { AddDialog } from "./add-dialog";
import { pathOf } from "./path";

const words = text.workspaces;

const COLUMNS: readonly Column<WorkspaceSettings>[] = [
  { id: "workspace", title: words.workspace, width: "minmax(140px, 1.2fr)", cell: (one) => one.workspace },
  { id: "tenant", title: words.tenant, width: "minmax(120px, 1fr)", cell: (one) => one.tenant },
  { id: "weight", title: words.weight, width: "90px", align: "end", cell: (one) => count(one.weight) },
  { id: "tenantWeight", title: words.tenantWeight, width: "150px", align: "end", cell: (one) => count(one.tenantWeight) },
  { id: "region", title: words.region, width: "150px", cell: (one) => one.phoneRegion ?? words.installations },
  { id: "addresses", title: words.addresses, width: "minmax(140px, 1.5fr)", cell: (one) => one.privateAddresses.join(", ") || "–" },
  { id: "changed", title: words.changed, width: "110px", cell: (one) => (one.updatedAt ? <Time at={one.updatedAt} /> : words.defaults) },
];

/** Every workspace of the installation, for an operator. */
export default function Workspaces() {
  const { data, isPending, error, refetch } = useRead("GET /v1/workspaces", {});
  const [tenant] = useQueryValue("tenant");
  const [adding, setAdding] = useState(false);
  const all = data?.data ?? [];
  const tenants = [...new Set(all.map((one) => one.tenant))].sort((one, other) => one.localeCompare(other));
  const rows = tenant ? all.filter((one) => one.tenant === tenant) : all;
  const add = (
    <Button kind="primary" icon={<Plus size={16} aria-hidden />} onClick={() => setAdding(true)}>
      {words.add}
    </Button>
  );
  const filters = [{ kind: "select" as const, name: "tenant", label: words.anyTenant, options: tenants.map((value) => ({ value, label: value })) }];
  return (
    <Page title={words.title} count={data && rows.length} actions={add} fill bar={<FilterBar filters={filters} />}>
      {error ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : (
        <Table
          label={words.title}
          columns={COLUMNS}
          rows={rows}
          rowKey={(one) => pathOf(one)}
          href={(one) => pathOf(one)}
          isLoading={isPending}
          empty={<EmptyState title={words.emptyTitle} about={words.emptyAbout} action={add} />}
        />
      )}
      {adding && <AddDialog onClose={() => setAdding(false)} />}
    </Page>
  );
}
