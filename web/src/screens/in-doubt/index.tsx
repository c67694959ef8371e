import type { Channel, Item } from "@tidings/client";
import { useState } from "react";
import { useSearchParams } from "wouter";
import { useList } from "../../api/queries";
import { useMay } from "../../api/session";
import { ResolveDialog, type Which } from "../../parts/message/resolve-dialog";
import { CHANNELS, optionsOf } from "../../parts/work/names";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { type Filter, FilterBar } from "../../ui/filter-bar";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";
import { useQueryValues, withValue } from "../../ui/use-query";
import { COLUMN } from "../messages/columns";
import { Evidence } from "./evidence";
import styles from "./in-doubt.module.css";

const words = text.inDoubt;
const EVERY_MS = 5_000;
const PAGE = 200;

const FILTERS: readonly Filter[] = [
  { kind: "select", name: "channel", label: words.anyChannel, options: optionsOf(text.work.channels, CHANNELS) },
  { kind: "text", name: "runId", label: words.run, mono: true },
];

const AGE: Column<Item> = { id: "age", title: words.sinceFirst, width: "100px", cell: (one) => <Time at={one.firstCalledAt} /> };
const COLUMNS = [COLUMN.recipient, COLUMN.source, { ...COLUMN.error, title: words.evidence }, AGE];

/** An inbox of what may have arrived: read what is known, then decide. */
export default function InDoubt() {
  const { channel, runId } = useQueryValues(["channel", "runId"]);
  const [params] = useSearchParams();
  const mayResolve = useMay("operate");
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [asking, setAsking] = useState<Which | null>(null);
  const where = { ...(channel ? { channel: channel as Channel } : {}), ...(runId ? { runId } : {}) };
  const list = useList("GET /v1/outbox", { query: { ...where, inDoubt: true, limit: PAGE } }, { every: EVERY_MS });
  const open = params.get("item");
  const ids = list.rows.map((one) => one.id).filter((id) => selected.has(id));
  const actions = mayResolve && list.rows.length > 0 && (
    <>
      <Button onClick={() => setAsking({ where })}>{words.resolveAll}</Button>
      {ids.length > 0 && (
        <Button kind="primary" onClick={() => setAsking({ ids })}>
          {words.resolveMany(ids.length)}
        </Button>
      )}
    </>
  );
  return (
    <Page title={words.title} fill bar={<FilterBar filters={FILTERS} />} actions={actions || undefined}>
      {list.error !== null && <Problem error={list.error} onRetry={list.reload} />}
      <div className={styles.panes}>
        <div className={styles.list}>
          <Table
            label={words.title}
            columns={COLUMNS}
            rows={list.rows}
            rowKey={(one) => one.id}
            rowName={(one) => one.recipient}
            href={(one) => `/in-doubt?${withValue(params, "item", one.id)}`}
            {...(mayResolve ? { selection: { selected, onChange: setSelected } } : {})}
            isLoading={list.isLoading}
            more={list.more}
            empty={<EmptyState title={words.empty} about={words.emptyAbout} />}
          />
        </div>
        {(open ?? list.rows.length > 0) && (
          <aside className={styles.side} aria-label={words.evidence}>
            {open ? <Evidence key={open} id={open} onResolve={mayResolve ? () => setAsking({ ids: [open] }) : undefined} /> : <Pick />}
          </aside>
        )}
      </div>
      {asking && <ResolveDialog which={asking} onClose={() => setAsking(null)} onDone={() => setSelected(new Set())} />}
    </Page>
  );
}

function Pick() {
  return (
    <div className={styles.pick}>
      <p>{words.about}</p>
      <p>{words.pick}</p>
      <p>{words.pickKeys}</p>
    </div>
  );
}
