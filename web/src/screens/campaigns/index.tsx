import type { Campaign, Run } from "@tidings/client";
import { Plus } from "lucide-react";
import { useMemo } from "react";
import { useList, useRead } from "../../api/queries";
import { useMay } from "../../api/session";
import { channelWord } from "../../parts/channel-word";
import { text } from "../../text";
import { ButtonLink } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { type Filter, FilterBar } from "../../ui/filter-bar";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Status } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";
import { useQueryValues } from "../../ui/use-query";
import { CHANNELS } from "../campaign/draft";

const words = text.campaigns;
const FILTERS: readonly Filter[] = [
  { kind: "search", name: "name", label: words.search },
  { kind: "select", name: "channel", label: words.channel, options: CHANNELS.map((value) => ({ value, label: channelWord(value) })) },
];

/** Every campaign, with what became of it the last time it was sent. */
export default function Campaigns() {
  const asked = useQueryValues(["name", "channel"]);
  const list = useList("GET /v1/campaigns", { query: { ...asked, limit: 100 } });
  const mayRead = useMay("readWork");
  const { data: runs } = useRead("GET /v1/runs", { query: { limit: 200 } }, { enabled: mayRead, every: 10_000 });
  const columns = useMemo(() => columnsWith(lastRuns(runs?.data ?? [])), [runs]);
  const create = useMay("define") && (
    <ButtonLink kind="primary" href="/campaigns/new" icon={<Plus size={14} aria-hidden />}>
      {words.create}
    </ButtonLink>
  );
  return (
    <Page title={words.title} actions={create} bar={<FilterBar filters={FILTERS} />} fill>
      {list.error ? (
        <Problem error={list.error} onRetry={list.reload} />
      ) : (
        <Table
          label={words.title}
          columns={columns}
          rows={list.rows}
          rowKey={(one) => one.id}
          href={(one) => `/campaigns/${one.id}`}
          isLoading={list.isLoading}
          more={list.more}
          empty={<EmptyState title={words.empty} about={words.emptyAbout} action={create} />}
        />
      )}
    </Page>
  );
}

/** The newest run of each campaign that was no test; runs come newest first. */
function lastRuns(runs: readonly Run[]): ReadonlyMap<string, Run> {
  const last = new Map<string, Run>();
  for (const run of runs) if (!run.test && !last.has(run.campaignId)) last.set(run.campaignId, run);
  return last;
}

function columnsWith(last: ReadonlyMap<string, Run>): Column<Campaign>[] {
  return [
    { id: "name", title: words.columns.name, width: "minmax(180px, 1.5fr)", cell: (one) => one.name },
    { id: "channel", title: words.columns.channel, width: "100px", cell: (one) => channelWord(one.channel) },
    { id: "audience", title: words.columns.audience, width: "minmax(200px, 2fr)", cell: (one) => <span title={one.inWords ?? undefined}>{one.inWords ?? words.noAudience}</span> },
    { id: "run", title: words.columns.run, width: "240px", cell: (one) => <LastRun run={last.get(one.id)} /> },
    { id: "changed", title: words.columns.changed, width: "110px", cell: (one) => <Time at={one.updatedAt} /> },
  ];
}

function LastRun({ run }: { run: Run | undefined }) {
  if (!run) return <>{words.neverSent}</>;
  return (
    <>
      <Status state={run.paused ? "paused" : run.status}>{run.statusText}</Status> <Time at={run.startedAt ?? run.createdAt} />
    </>
  );
}
