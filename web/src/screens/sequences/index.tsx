import type { Sequence } from "@tidings/client";
import { Plus } from "lucide-react";
import { useList } from "../../api/queries";
import { useMay } from "../../api/session";
import { KindIcon } from "../../parts/graph/kinds";
import { channelName } from "../../parts/content/channel";
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
import { useQueryValue, useQueryValues } from "../../ui/use-query";
import { NewDialog } from "./dialogs/new-dialog";
import { lengthOf } from "./model/calendar";
import styles from "./sequences.module.css";

const words = text.sequences;

const FILTERS: readonly Filter[] = [
  { kind: "search", name: "name", label: words.search },
  { kind: "select", name: "status", label: words.status, options: Object.entries(words.statuses).map(([value, label]) => ({ value, label })) },
];

const COLUMNS: readonly Column<Sequence>[] = [
  { id: "name", title: words.name, width: "minmax(220px, 2fr)", cell: (row) => row.name },
  { id: "status", title: words.status, width: "minmax(150px, 1fr)", cell: (row) => <State sequence={row} /> },
  { id: "draft", title: "", width: "180px", cell: (row) => (row.published && row.hasDraft ? <Tag tone="info">{words.changed}</Tag> : null) },
  { id: "channels", title: words.channels, width: "120px", cell: (row) => <Channels sequence={row} /> },
  { id: "steps", title: words.steps, width: "80px", align: "end", cell: (row) => row.steps.length },
  { id: "length", title: words.length, width: "100px", align: "end", cell: (row) => (row.steps.length ? words.days(lengthOf(row) + 1) : "–") },
  { id: "updated", title: words.updated, width: "140px", cell: (row) => <Time at={row.updatedAt} /> },
];

/** Every series of messages of the workspace. */
export default function Sequences() {
  const canEdit = useMay("define");
  const filters = useQueryValues(["name", "status"]);
  const [isNew, setNew] = useQueryValue("new");
  const list = useList("GET /v1/sequences", { query: { ...filters, limit: 100 } });
  useShortcuts(canEdit ? [{ keys: "n", label: words.create, run: () => setNew("1") }] : []);
  const create = canEdit && (
    <Button kind="primary" icon={<Plus size={15} aria-hidden />} onClick={() => setNew("1")}>
      {words.create}
    </Button>
  );
  const isFiltered = Object.keys(filters).length > 0;
  const count = list.isLoading ? undefined : `${list.rows.length}${list.more.hasMore ? "+" : ""}`;
  return (
    <Page title={words.title} count={count} fill actions={create} bar={<FilterBar filters={FILTERS} />}>
      {list.error ? (
        <Problem error={list.error} onRetry={list.reload} />
      ) : (
        <Table
          label={words.title}
          columns={COLUMNS}
          rows={list.rows}
          rowKey={(row) => row.id}
          href={(row) => `/sequences/${row.id}`}
          isLoading={list.isLoading}
          more={list.more}
          empty={isFiltered ? <EmptyState title={words.nothingFits} about="" /> : <EmptyState title={words.empty} about={words.emptyAbout} action={create} />}
        />
      )}
      {canEdit && isNew && <NewDialog onClose={() => setNew("")} />}
    </Page>
  );
}

export function State({ sequence: { status, notReady } }: { sequence: Pick<Sequence, "status" | "notReady"> }) {
  if (notReady.length) return <Status state="warn" tone="warn">{text.message.noProvider(notReady.join(", "))}</Status>;
  return <Status state={status}>{words.statuses[status]}</Status>;
}

function Channels({ sequence }: { sequence: Sequence }) {
  const channels = [...new Set(sequence.steps.map((step) => step.channel))];
  return (
    <span className={styles.channels}>
      {channels.map((channel) => (
        <span key={channel} role="img" aria-label={channelName(channel)} title={channelName(channel)}>
          <KindIcon type={channel} size={15} />
        </span>
      ))}
    </span>
  );
}
