import type { Execution, ShownStatus } from "@tidings/client";
import { useList, useRead } from "../../api/queries";
import { ContactFilter } from "../../parts/work/contact-filter";
import { ContactLink } from "../../parts/work/contact-link";
import { optionsOf } from "../../parts/work/names";
import { TimeRange } from "../../parts/work/time-range";
import { text } from "../../text";
import { ButtonLink } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { type Filter, FilterBar } from "../../ui/filter-bar";
import { Id } from "../../ui/id";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Status } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";
import { duration } from "../../ui/times";
import { useQueryValues } from "../../ui/use-query";
import { secondsOf } from "../../parts/work/spans";
import styles from "./executions.module.css";

const words = text.executions;
const EVERY_MS = 4_000;
const STATUSES = ["enqueued", "processing", "paused", "completed", "failed", "cancelled"] as const;
const NAMES = ["error", "status", "workflow", "contactId", "createdAfter", "createdBefore"];

/** Every execution, the newest first; the first page follows what happens. */
export default function Executions() {
  const { status, ...filters } = useQueryValues(NAMES);
  const query = { ...filters, ...(status ? { status: status as ShownStatus } : {}) };
  const list = useList("GET /v1/executions", { query }, { every: EVERY_MS });
  const isFiltered = Object.keys(query).length > 0;
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
          href={(one) => `/executions/${one.id}`}
          isLoading={list.isLoading}
          more={list.more}
          empty={isFiltered ? <EmptyState title={words.nothingFits} about={words.nothingFitsAbout} /> : <Empty />}
        />
      )}
    </Page>
  );
}

function Filters() {
  const { data } = useRead("GET /v1/workflows", { query: { limit: 200 } });
  const workflows = (data?.data ?? []).map(({ name }) => ({ value: name, label: name }));
  const filters: readonly Filter[] = [
    { kind: "search", name: "error", label: words.text },
    { kind: "select", name: "status", label: words.anyStatus, options: optionsOf(text.work.statuses, STATUSES) },
    { kind: "select", name: "workflow", label: words.allWorkflows, options: workflows },
  ];
  return (
    <FilterBar filters={filters}>
      <ContactFilter />
      <TimeRange />
    </FilterBar>
  );
}

function Empty() {
  return <EmptyState title={words.empty} about={words.emptyAbout} action={<ButtonLink href="/workflows">{words.toWorkflows}</ButtonLink>} />;
}

const COLUMNS: readonly Column<Execution>[] = [
  { id: "workflow", title: text.work.workflow, width: "minmax(0, 1.6fr)", cell: (one) => <WorkflowOf execution={one} /> },
  { id: "status", title: text.work.status, width: "120px", cell: (one) => <Status state={one.status} /> },
  { id: "contact", title: text.work.contact, width: "minmax(0, 1.4fr)", cell: (one) => <ContactLink contact={one.contact} contactId={one.contactId} /> },
  { id: "at", title: words.at, width: "minmax(0, 2fr)", cell: (one) => <At execution={one} /> },
  { id: "created", title: words.started, width: "110px", cell: (one) => <Time at={one.createdAt} /> },
  { id: "took", title: words.took, width: "90px", align: "end", cell: (one) => tookOf(one) },
  { id: "id", title: text.work.id, width: "120px", cell: (one) => <Id id={one.id} /> },
];

function WorkflowOf({ execution }: { execution: Execution }) {
  return (
    <>
      {execution.workflowName} <span className={styles.version}>v{execution.workflowVersion}</span>
    </>
  );
}

/** Where it stands: the error, why it waits, or the node that is due. */
function At({ execution: one }: { execution: Execution }) {
  if (one.errorMessage) return <span className={styles.error}>{[one.errorStep, one.errorMessage].filter(Boolean).join(": ")}</span>;
  if (one.status === "completed" || !one.cursor) return <span aria-hidden>–</span>;
  if (one.waiting) return <>{`${one.cursor}: ${one.waiting}`}</>;
  return (
    <>
      {one.cursor}
      {one.availableAt && (
        <span className={styles.version}>
          {" · "}
          <Time at={one.availableAt} />
        </span>
      )}
    </>
  );
}

function tookOf({ startedAt, completedAt }: Execution): string {
  const seconds = secondsOf(startedAt, completedAt);
  return seconds === undefined ? "" : duration(seconds);
}
