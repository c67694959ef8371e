import type { AuditLine } from "@tidings/client";
import { Cog, KeyRound, UserRound } from "lucide-react";
import { Link } from "wouter";
import { useList } from "../../api/queries";
import { TimeRange } from "../../parts/work/time-range";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { type Filter, FilterBar } from "../../ui/filter-bar";
import { Id, shortId } from "../../ui/id";
import { KeyValue } from "../../ui/key-value";
import { Page } from "../../ui/page";
import { Popover } from "../../ui/popover";
import { Problem } from "../../ui/problem";
import { wordsOf } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";
import { useQueryValues } from "../../ui/use-query";
import { sectionOf } from "../registry";
import styles from "./audit.module.css";
import { type ActorKind, actorOf, detailInWords, kindInWords, placeOf } from "./words";

const words = text.audit;
const ICONS: Readonly<Record<ActorKind, typeof Cog>> = { person: UserRound, key: KeyRound, system: Cog };
const KINDS: Readonly<Record<ActorKind, string>> = { person: words.byPerson, key: words.byKey, system: words.bySystem };

const FILTERS: readonly Filter[] = [
  { kind: "search", name: "actor", label: words.searchWho },
  {
    kind: "select",
    name: "subjectKind",
    label: words.anyKind,
    options: Object.entries(words.kinds).map(([value, label]) => ({ value, label })),
  },
  { kind: "text", name: "subject", label: words.subjectId, mono: true },
];
const NAMES = [...FILTERS.map((one) => one.name), "createdAfter", "createdBefore"];

const COLUMNS: readonly Column<AuditLine>[] = [
  { id: "when", title: words.when, width: "110px", cell: (one) => <Time at={one.at} /> },
  { id: "who", title: words.who, width: "minmax(180px, 1.2fr)", cell: (one) => <Who actor={one.actor} /> },
  { id: "what", title: words.what, width: "130px", cell: (one) => wordsOf(one.event) },
  { id: "subject", title: words.subject, width: "minmax(200px, 1.5fr)", cell: (one) => <Subject line={one} /> },
  { id: "changed", title: words.changed, width: "minmax(200px, 2fr)", cell: (one) => <Changed line={one} /> },
  { id: "workspace", title: words.workspace, width: "110px", cell: (one) => one.workspace },
];

/** Who did what, to what, and when. */
export default function AuditLog() {
  const query = useQueryValues(NAMES);
  const list = useList("GET /v1/audit-log", { query });
  const isFiltered = Object.keys(query).length > 0;
  const empty = isFiltered ? (
    <EmptyState title={words.noneFits} about={words.noneFitsAbout} />
  ) : (
    <EmptyState title={words.emptyTitle} about={words.emptyAbout} />
  );
  const bar = (
    <FilterBar filters={FILTERS}>
      <TimeRange />
    </FilterBar>
  );
  return (
    <Page title={words.title} fill bar={bar}>
      {list.error ? (
        <Problem error={list.error} onRetry={list.reload} />
      ) : (
        <Table
          label={words.title}
          columns={COLUMNS}
          rows={list.rows}
          rowKey={(one) => one.id}
          isLoading={list.isLoading}
          more={list.more}
          empty={empty}
        />
      )}
    </Page>
  );
}

function Who({ actor }: { actor: string }) {
  const { kind, name } = actorOf(actor);
  const Icon = ICONS[kind];
  return (
    <span className={styles.who}>
      <Icon size={14} aria-label={KINDS[kind]} role="img" />
      <span>{name}</span>
    </span>
  );
}

function Subject({ line }: { line: AuditLine }) {
  const name = line.subjectName ?? nameIn(line.detail);
  const href = placeOf(line);
  return (
    <>
      <span className={styles.kind}>{kindInWords(line.subjectKind)}</span>{" "}
      {href && sectionOf(href) ? <Link href={href}>{name ?? shortId(line.subjectId)}</Link> : (name ?? <Id id={line.subjectId} />)}
    </>
  );
}

/** What is gone still has the name that was written down. */
function nameIn(detail: AuditLine["detail"]): string | null {
  const name = detail["name"];
  return typeof name === "string" ? name : null;
}

function Changed({ line }: { line: AuditLine }) {
  const summary = detailInWords(line.detail);
  if (!summary) return <span aria-hidden>–</span>;
  const trigger = (
    <Button small kind="quiet" className={styles.changed} aria-label={`${words.whole}: ${summary}`}>
      <span>{summary}</span>
    </Button>
  );
  return (
    <Popover label={words.entry} trigger={trigger}>
      <div className={styles.entry}>
        <KeyValue
          pairs={[
            [words.when, <Time key="when" at={line.at} exact />],
            [words.who, line.actor],
            [words.what, `${wordsOf(line.event)}: ${kindInWords(line.subjectKind)}`],
            [words.subject, <Id key="id" id={line.subjectId} whole />],
          ]}
        />
        <pre>{JSON.stringify(line.detail, null, 2)}</pre>
      </div>
    </Popover>
  );
}
