import type { Run, RunStatus } from "@tidings/client";
import { useList, useRead } from "../../api/queries";
import { optionsOf } from "../../parts/work/names";
import { TimeRange } from "../../parts/work/time-range";
import { text } from "../../text";
import { ButtonLink } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { type Filter, FilterBar } from "../../ui/filter-bar";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Tag } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";
import { count } from "../../ui/times";
import { useQueryValues } from "../../ui/use-query";
import { partsOf, reachedOf } from "../run/progress";
import { RunState } from "./run-state";
import styles from "./runs.module.css";

const words = text.runs;
const EVERY_MS = 4_000;
const STATUSES = ["queued", "running", "completed", "partial", "failed"] as const;

/** Every run, the newest first; the first page follows what happens. */
export default function Runs() {
  const { status, ...filters } = useQueryValues(["status", "campaignId", "createdAfter", "createdBefore"]);
  const query = { ...filters, ...(status ? { status: status as RunStatus } : {}) };
  const list = useList("GET /v1/runs", { query }, { every: EVERY_MS });
  const isFiltered = Object.keys(query).length > 0;
  const empty = isFiltered ? (
    <EmptyState title={words.nothingFits} about={text.executions.nothingFitsAbout} />
  ) : (
    <EmptyState title={words.empty} about={words.emptyAbout} action={<ButtonLink href="/campaigns">{words.toCampaigns}</ButtonLink>} />
  );
  return (
    <Page title={words.title} fill bar={<Filters />}>
      {list.error ? (
        <Problem error={list.error} onRetry={list.reload} />
      ) : (
        <Table
          label={words.title}
          columns={COLUMNS}
          rows={list.rows}
          rowKey={(one) => one.id}
          href={(one) => `/runs/${one.id}`}
          isLoading={list.isLoading}
          more={list.more}
          empty={empty}
        />
      )}
    </Page>
  );
}

function Filters() {
  const { data } = useRead("GET /v1/campaigns", { query: { limit: 200 } });
  const campaigns = (data?.data ?? []).map(({ id, name }) => ({ value: id, label: name }));
  const filters: readonly Filter[] = [
    { kind: "select", name: "status", label: words.anyStatus, options: optionsOf(text.work.statuses, STATUSES) },
    { kind: "select", name: "campaignId", label: words.allCampaigns, options: campaigns },
  ];
  return (
    <FilterBar filters={filters}>
      <TimeRange />
    </FilterBar>
  );
}

const COLUMNS: readonly Column<Run>[] = [
  { id: "campaign", title: text.work.campaign, width: "minmax(0, 1.6fr)", cell: (one) => <Named run={one} /> },
  { id: "status", title: text.work.status, width: "minmax(120px, 1fr)", cell: (one) => <RunState run={one} /> },
  { id: "progress", title: words.progress, width: "160px", cell: (one) => <Bar run={one} /> },
  { id: "planned", title: words.planned, width: "90px", align: "end", cell: (one) => count(one.counts.planned) },
  { id: "sent", title: words.sent, width: "90px", align: "end", cell: (one) => count(reachedOf(one.counts)) },
  { id: "failed", title: words.failed, width: "80px", align: "end", cell: (one) => <Counted value={one.counts.failed} tone="bad" /> },
  { id: "inDoubt", title: words.inDoubt, width: "80px", align: "end", cell: (one) => <Counted value={one.counts.inDoubt} tone="doubt" /> },
  { id: "channel", title: text.work.channel, width: "80px", cell: (one) => text.work.channels[one.channel] },
  { id: "created", title: text.work.created, width: "100px", cell: (one) => <Time at={one.createdAt} /> },
];

function Named({ run }: { run: Run }) {
  return (
    <>
      {run.campaignName ?? words.noCampaign} {run.test && <Tag>{text.work.test}</Tag>} {run.printed && <Tag>{text.work.printed}</Tag>}
    </>
  );
}

function Bar({ run: { counts } }: { run: Run }) {
  const parts = partsOf(counts);
  const done = counts.planned ? (counts.planned - counts.queued) / counts.planned : 0;
  return (
    <span className={styles.bar} role="img" aria-label={`${Math.floor(done * 100)} %`}>
      <span className={styles.track}>
        {parts.map((part) => (
          <span key={part.label} className={styles[part.tone]} style={{ width: counts.planned ? `${(100 * part.value) / counts.planned}%` : 0 }} />
        ))}
      </span>
      <span className={styles.percent}>{Math.floor(done * 100)} %</span>
    </span>
  );
}

function Counted({ value, tone }: { value: number; tone: "bad" | "doubt" }) {
  return value ? <span className={styles[`${tone}Text`]}>{count(value)}</span> : <span className={styles.zero}>0</span>;
}
