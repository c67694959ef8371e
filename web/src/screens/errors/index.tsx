import type { FailureGroup } from "@tidings/client";
import { useRead } from "../../api/queries";
import { Note } from "../../parts/work/note";
import { text } from "../../text";
import { EmptyState } from "../../ui/empty-state";
import { type Filter, FilterBar } from "../../ui/filter-bar";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";
import { count } from "../../ui/times";
import { useQueryValues } from "../../ui/use-query";
import styles from "./errors.module.css";
import { matching } from "./matching";

const words = text.errors;
const EVERY_MS = 15_000;

const FILTERS: readonly Filter[] = [
  { kind: "search", name: "search", label: words.search },
  { kind: "time", name: "since", label: words.since },
];

const COLUMNS: readonly Column<FailureGroup>[] = [
  { id: "text", title: words.error, width: "minmax(0, 3fr)", cell: (one) => one.text },
  { id: "count", title: words.count, width: "70px", align: "end", cell: (one) => <b className={styles.count}>{count(one.count)}</b> },
  { id: "people", title: words.people, width: "70px", align: "end", cell: (one) => count(one.people) },
  { id: "where", title: words.where, width: "minmax(0, 1.2fr)", cell: (one) => [...one.workflows, ...one.campaigns].join(", ") || "–" },
  { id: "through", title: words.through, width: "minmax(0, 0.8fr)", cell: (one) => [...one.providers, ...one.channels].join(", ") || "–" },
  { id: "first", title: words.first, width: "100px", cell: (one) => <Time at={one.firstAt} /> },
  { id: "last", title: words.last, width: "100px", cell: (one) => <Time at={one.lastAt} /> },
];

/** What failed, grouped by what went wrong. */
export default function Errors() {
  const { search = "", since } = useQueryValues(["search", "since"]);
  const { data, error, isPending, refetch } = useRead("GET /v1/failures", { query: since ? { since } : {} }, { every: EVERY_MS, keep: true });
  const rows = matching(data?.data ?? [], search);
  const query = since ? `?since=${encodeURIComponent(since)}` : "";
  return (
    <Page title={words.title} {...(data ? { count: count(rows.length) } : {})} fill bar={<FilterBar filters={FILTERS} />}>
      {data && !data.complete && (
        <div className={styles.note}>
          <Note tone="warn">{words.incomplete}</Note>
        </div>
      )}
      {error ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : (
        <Table
          label={words.title}
          columns={COLUMNS}
          rows={rows}
          rowKey={(one) => one.id}
          href={(one) => `/errors/${one.id}${query}`}
          isLoading={isPending}
          empty={<EmptyState title={words.empty} about={search ? words.nothingFits : words.emptyAbout} />}
        />
      )}
    </Page>
  );
}
