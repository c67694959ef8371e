import type { PublishedVersion, Sequence } from "@tidings/client";
import { useRead } from "../../../api/queries";
import { text } from "../../../text";
import { EmptyState } from "../../../ui/empty-state";
import { Problem } from "../../../ui/problem";
import { type Column, Table } from "../../../ui/table";
import { Time } from "../../../ui/time";

const words = text.sequences.versions;

const COLUMNS: readonly Column<PublishedVersion>[] = [
  { id: "version", title: words.version, width: "100px", cell: (row) => row.version },
  { id: "published", title: words.published, width: "160px", cell: (row) => <Time at={row.publishedAt} /> },
  { id: "steps", title: words.steps, width: "80px", align: "end", cell: (row) => row.steps.length },
  { id: "zone", title: words.zone, cell: (row) => row.timezone },
];

/** Everything that was published of it. */
export function VersionsTab({ sequence: { id } }: { sequence: Sequence }) {
  const { data, error, isPending } = useRead("GET /v1/sequences/{id}/versions", { path: { id } });
  if (error) return <Problem error={error} />;
  const empty = <EmptyState title={words.empty} about={words.emptyAbout} />;
  return <Table label={text.sequences.tabs.versions} columns={COLUMNS} rows={data?.data ?? []} rowKey={(row) => String(row.version)} isLoading={isPending} maxHeight={640} empty={empty} />;
}
