import type { Campaign, Run } from "@tidings/client";
import { useList } from "../../api/queries";
import { text } from "../../text";
import { EmptyState } from "../../ui/empty-state";
import { Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Status, Tag } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";
import { count } from "../../ui/times";
import { RunPanel } from "./run-panel";

const words = text.campaigns;
const EVERY_MS = 5_000;

const COLUMNS: readonly Column<Run>[] = [
  { id: "started", title: words.run.started, width: "120px", cell: (one) => <Time at={one.startedAt ?? one.createdAt} /> },
  { id: "status", title: words.run.status, width: "minmax(140px, 2fr)", cell: (one) => <RunState run={one} /> },
  { id: "kind", title: "", width: "110px", cell: (one) => <RunKind run={one} /> },
  { id: "sent", title: words.run.parts.sent, width: "90px", align: "end", cell: (one) => count(one.counts.sent + one.counts.called + one.counts.posted) },
  { id: "failed", title: words.run.parts.failed, width: "90px", align: "end", cell: (one) => count(one.counts.failed) },
  { id: "skipped", title: words.run.parts.skipped, width: "90px", align: "end", cell: (one) => count(one.counts.skipped) },
];

/** What became of the campaign: the newest run followed as it goes, the earlier ones below it. */
export function ResultsStep({ campaign }: { campaign: Campaign }) {
  const list = useList("GET /v1/runs", { query: { campaignId: campaign.id, limit: 50 } }, { every: EVERY_MS });
  if (list.error) return <Problem error={list.error} onRetry={list.reload} />;
  if (list.isLoading) return <Skeleton lines={5} />;
  const newest = list.rows.find((run) => !run.test);
  const others = list.rows.filter((run) => run !== newest);
  return (
    <>
      {newest ? <RunPanel key={newest.id} id={newest.id} /> : <EmptyState title={words.noRuns} about={words.noRunsAbout} />}
      {others.length > 0 && (
        <Section title={words.earlier}>
          <Table label={words.earlier} columns={COLUMNS} rows={others} rowKey={(one) => one.id} href={(one) => `/runs/${one.id}`} more={list.more} maxHeight={360} />
        </Section>
      )}
    </>
  );
}

function RunState({ run }: { run: Run }) {
  return <Status state={run.paused ? "paused" : run.status}>{run.statusText}</Status>;
}

function RunKind({ run }: { run: Run }) {
  if (run.test) return <Tag>{words.run.test}</Tag>;
  return run.retryOf ? <Tag tone="info">{words.run.retry}</Tag> : null;
}
