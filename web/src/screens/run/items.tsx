import type { ItemStatus, Run } from "@tidings/client";
import { useList } from "../../api/queries";
import { optionsOf } from "../../parts/work/names";
import { text } from "../../text";
import { EmptyState } from "../../ui/empty-state";
import { Problem } from "../../ui/problem";
import { Select } from "../../ui/select";
import { Table } from "../../ui/table";
import { useQueryValue } from "../../ui/use-query";
import { COLUMN } from "../messages/columns";
import styles from "./run.module.css";

const words = text.runs;
const EVERY_MS = 4_000;
const PAGE = 1_000;
const COLUMNS = [COLUMN.recipient, COLUMN.status, COLUMN.contact, COLUMN.error, COLUMN.attempts, COLUMN.ended, COLUMN.id];
const STATUSES = ["queued", "inDoubt", "sent", "called", "posted", "failed", "skipped"] as const;

/** Its messages, however many: a thousand more whenever the last ones come into sight. */
export function Items({ run, isOpen }: { run: Run; isOpen: boolean }) {
  const [status, setStatus] = useQueryValue("status");
  const where = status === "inDoubt" ? { inDoubt: true } : status ? { status: status as ItemStatus } : {};
  const list = useList("GET /v1/runs/{id}/items", { path: { id: run.id }, query: { ...where, limit: PAGE } }, { every: isOpen ? EVERY_MS : undefined });
  if (list.error) return <Problem error={list.error} onRetry={list.reload} />;
  return (
    <>
      <div className={styles.filter}>
        <Select small aria-label={text.work.status} value={status} onChange={setStatus} options={[{ value: "", label: words.all }, ...optionsOf(text.work.statuses, STATUSES)]} />
      </div>
      <Table
        label={words.items}
        columns={COLUMNS}
        rows={list.rows}
        rowKey={(one) => one.id}
        href={(one) => `/outbox/${one.id}`}
        isLoading={list.isLoading}
        more={list.more}
        empty={<EmptyState title={text.messages.nothingFits} about={words.nothingHere} />}
      />
    </>
  );
}
