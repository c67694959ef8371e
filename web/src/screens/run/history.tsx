import type { HistoryLine, Run } from "@tidings/client";
import { useRead } from "../../api/queries";
import { text } from "../../text";
import { Problem } from "../../ui/problem";
import { wordsOf } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";

const words = text.runs;

const COLUMNS: readonly Column<HistoryLine>[] = [
  { id: "event", title: words.event, width: "180px", cell: (one) => wordsOf(one.event) },
  { id: "by", title: words.by, width: "minmax(0, 1fr)", cell: (one) => one.actor },
  { id: "detail", title: words.detail, width: "minmax(0, 2fr)", cell: (one) => (Object.keys(one.detail).length ? <code>{JSON.stringify(one.detail)}</code> : "") },
  { id: "at", title: words.at, width: "220px", cell: (one) => <Time at={one.at} exact /> },
];

/** Every change of a run's state, and every person's action on it. */
export function History({ run }: { run: Run }) {
  const { data, error, isPending, refetch } = useRead("GET /v1/runs/{id}/history", { path: { id: run.id } });
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  return <Table label={words.history} columns={COLUMNS} rows={data?.data ?? []} rowKey={(one) => `${one.at}${one.event}`} isLoading={isPending} />;
}
