import type { MatrixCell, RuleMatrix } from "@tidings/client";
import { Plus } from "lucide-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useLocation } from "wouter";
import { api } from "../../api/client";
import { keyOf } from "../../api/queries";
import { useMay } from "../../api/session";
import { KindIcon } from "../../parts/graph/kinds";
import { channelName } from "../../parts/content/channel";
import { useShortcuts } from "../../shell/keys";
import { text } from "../../text";
import { Button, ButtonLink } from "../../ui/button";
import { cx } from "../../ui/cx";
import { EmptyState } from "../../ui/empty-state";
import { FilterBar, type Filter } from "../../ui/filter-bar";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Status, type Tone } from "../../ui/status";
import { useQueryValue } from "../../ui/use-query";
import { cellAt, type Column, columnsOf, rowsMatching } from "./model/matrix";
import styles from "./rules.module.css";

const words = text.rules;
const FILTERS: readonly Filter[] = [
  { kind: "search", name: "trigger", label: words.find },
  { kind: "select", name: "audience", label: words.everyAudience, options: Object.entries(words.audiences).map(([value, label]) => ({ value, label })) },
];
const TONES: Readonly<Record<string, Tone>> = { enqueued: "good", suppressed: "quiet", fallback: "info", none: "quiet" };

/** What becomes of each trigger, over each channel, for each audience. */
export default function Rules() {
  const canEdit = useMay("define");
  const readsWork = useMay("readWork");
  const [, navigate] = useLocation();
  const { matrix, error, isPending, hasMore, load } = useMatrix();
  useShortcuts(canEdit ? [{ keys: "n", label: words.create, run: () => navigate("/rules/new") }] : []);
  const create = canEdit && (
    <ButtonLink kind="primary" href="/rules/new" icon={<Plus size={15} aria-hidden />}>
      {words.create}
    </ButtonLink>
  );
  const actions = (
    <>
      {readsWork && <ButtonLink href="/events/explain">{words.explain}</ButtonLink>}
      {create}
    </>
  );
  return (
    <Page title={words.title} count={matrix?.rows.length} actions={actions} bar={<Filters />}>
      {error && <Problem error={error} />}
      {isPending && <Skeleton lines={8} />}
      {matrix?.rows.length === 0 && <EmptyState title={words.empty} about={words.emptyAbout} action={create} />}
      {matrix && matrix.rows.length > 0 && <Matrix matrix={matrix} canEdit={canEdit} />}
      {hasMore && (
        <Button small onClick={load}>
          {text.common.loadMore}
        </Button>
      )}
    </Page>
  );
}

const FIRST_PAGE: { cursor?: string } = {};

/** Triggers come page by page; the columns are the same on each. */
function useMatrix() {
  const found = useInfiniteQuery({
    queryKey: keyOf("GET /v1/rules/matrix"),
    queryFn: ({ pageParam, signal }) => api.rules.matrix({ limit: 200, ...pageParam }, { signal }),
    initialPageParam: FIRST_PAGE,
    getNextPageParam: (last: RuleMatrix) => (last.nextCursor ? { cursor: last.nextCursor } : undefined),
  });
  const [first] = found.data?.pages ?? [];
  const matrix = first && { ...first, rows: found.data?.pages.flatMap((page) => page.rows) ?? [] };
  return { matrix, error: found.error, isPending: found.isPending, hasMore: found.hasNextPage, load: () => void found.fetchNextPage() };
}

function Filters() {
  const [all, setAll] = useQueryValue("channels");
  return (
    <FilterBar filters={FILTERS}>
      <Button small kind="quiet" onClick={() => setAll(all ? "" : "all")}>
        {all ? words.usedChannels : words.allChannels}
      </Button>
    </FilterBar>
  );
}

function Matrix({ matrix, canEdit }: { matrix: RuleMatrix; canEdit: boolean }) {
  const [audience] = useQueryValue("audience");
  const [search] = useQueryValue("trigger");
  const [all] = useQueryValue("channels");
  const columns = columnsOf(matrix, { audience, all: all !== "" });
  const rows = rowsMatching(matrix.rows, search);
  if (rows.length === 0) return <EmptyState title={words.nothingFits} about="" />;
  return (
    <>
      <div className={styles.scroller}>
        <table className={styles.matrix} aria-label={words.matrix}>
          <Head columns={columns} />
          <tbody>
            {rows.map((row) => (
              <tr key={row.trigger}>
                <th scope="row">
                  <code>{row.trigger}</code>
                </th>
                {columns.map((column) => (
                  <td key={`${column.audience} ${column.channel}`} className={cx(isFirst(columns, column) && styles.first)}>
                    <Cell trigger={row.trigger} column={column} cell={cellAt(row, column)} canEdit={canEdit} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className={styles.legend}>
        {Object.entries(words.legend).map(([outcome, about]) => (
          <span key={outcome}>
            <Status state={outcome} tone={TONES[outcome] ?? "quiet"}>
              {words.outcomes[outcome as keyof typeof words.outcomes]}: {about}
            </Status>
          </span>
        ))}
      </p>
    </>
  );
}

function isFirst(columns: readonly Column[], column: Column): boolean {
  return columns.find((one) => one.audience === column.audience) === column;
}

function Head({ columns }: { columns: readonly Column[] }) {
  const audiences = [...new Set(columns.map((column) => column.audience))];
  const span = columns.length / audiences.length;
  return (
    <thead>
      <tr>
        <th rowSpan={2} scope="col">
          {words.trigger}
        </th>
        {audiences.map((audience) => (
          <th key={audience} colSpan={span} scope="colgroup" className={styles.first}>
            {words.audiences[audience as keyof typeof words.audiences]}
          </th>
        ))}
      </tr>
      <tr>
        {columns.map((column) => (
          <th key={`${column.audience} ${column.channel}`} scope="col" className={cx(styles.channel, isFirst(columns, column) && styles.first)}>
            <span>
              <KindIcon type={column.channel} size={13} /> {channelName(column.channel)}
            </span>
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface CellProps {
  trigger: string;
  column: Column;
  cell: MatrixCell | undefined;
  canEdit: boolean;
}

/** An outcome leads to its rule; where nothing happens, to a new one. */
function Cell({ trigger, column, cell, canEdit }: CellProps) {
  const outcome = (cell?.outcome ?? "none") as keyof typeof words.outcomes;
  const name = outcome === "enqueued" ? words.sends(cell?.steps ?? 1) : words.outcomes[outcome];
  const label = words.cell(trigger, words.audiences[column.audience as keyof typeof words.audiences], channelName(column.channel), name);
  const begin = `/rules/new?${new URLSearchParams({ trigger, audience: column.audience, channel: column.channel }).toString()}`;
  const isWrong = outcome === "enqueued" && cell?.ready === false;
  const shown = isWrong ? (
    <Status state="warn" tone="warn">
      {words.notReady}
    </Status>
  ) : outcome === "none" ? (
    <span className={styles.none}>–</span>
  ) : (
    <Status state={outcome} tone={TONES[outcome] ?? "quiet"}>
      {name}
    </Status>
  );
  if (!cell?.ruleId && !canEdit) return <span className={styles.cell}>{shown}</span>;
  return (
    <Link href={cell?.ruleId ? `/rules/${cell.ruleId}` : begin} className={styles.cell} aria-label={label} title={cell?.reason}>
      {shown}
    </Link>
  );
}
