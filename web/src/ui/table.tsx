import { defaultRangeExtractor, useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useShortcuts } from "../shell/keys";
import { text } from "../text";
import { Button } from "./button";
import { Checkbox } from "./checkbox";
import { cx } from "./cx";
import { useLate } from "./skeleton";
import { type Key, nextRow, toggled } from "./table-keys";
import styles from "./table.module.css";
import { TableRow } from "./table-row";

export interface Column<Row> {
  id: string;
  title: string;
  cell: (row: Row) => ReactNode;
  /** A track of CSS grid: `120px`, `minmax(200px, 2fr)`. */
  width?: string;
  align?: "end";
  sortable?: boolean;
}

export interface Sort {
  column: string;
  descending: boolean;
}

export interface Selection {
  selected: ReadonlySet<string>;
  onChange: (selected: ReadonlySet<string>) => void;
}

export interface TableProps<Row> {
  /** What the rows are: the table's accessible name. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  /** What one row is called, for its check box. */
  rowName?: (row: Row) => string;
  /** Where a row leads: its first cell is the link, and a click anywhere in the row follows it. */
  href?: (row: Row) => string;
  selection?: Selection;
  sort?: Sort;
  onSort?: (sort: Sort) => void;
  isLoading?: boolean;
  /** The next page of a list that is read by cursors. */
  more?: { hasMore: boolean; isLoading: boolean; load: () => void };
  /** Shown instead of rows when there are none. */
  empty?: ReactNode;
  /** Within a page of other things: no taller than this. Without it, the table fills its place and scrolls in it. */
  maxHeight?: number;
}

const ROW_HEIGHT = 36;
const SKELETON_ROWS = 8;

/** Rows of any number, all of one height: those on the screen are drawn. Arrows, Home and End move, Enter opens, Space or x selects. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, rowKey, rowName, href, selection, more, empty, maxHeight, isLoading = false } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [chosen, setActive] = useState(0);
  const active = Math.max(0, Math.min(chosen, rows.length - 1));
  const [anchor, setAnchor] = useState(0);
  const [, navigate] = useLocation();
  const virtual = useRows(rows.length, active, scroller);
  useMore(virtual, rows.length, more);

  const focusRow = (index: number) => {
    setActive(index);
    virtual.scrollToIndex(index);
    requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-row="${index}"]`)?.focus());
  };
  // From anywhere on the screen; once a row has the focus, the grid's own keys move on.
  useShortcuts(rows.length > 0 ? [{ keys: "j", label: text.keys.toRows, run: () => focusRow(active) }] : []);
  const select = (index: number, range: boolean) => {
    if (!selection) return;
    const keys = rows.map(rowKey);
    selection.onChange(toggled(selection.selected, keys, index, range ? anchor : index));
    setAnchor(index);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!(event.target instanceof HTMLElement) || event.target.dataset["row"] === undefined) return;
    const row = rows[active];
    const to = nextRow(event.key as Key, active, rows.length);
    if (to !== undefined) {
      event.preventDefault();
      focusRow(to);
    } else if (event.key === "Enter" && row && href) navigate(href(row));
    else if ((event.key === " " || event.key === "x") && selection) {
      event.preventDefault();
      select(active, event.shiftKey);
    } else if (event.key === "Escape" && selection) selection.onChange(new Set());
  };

  const isEmpty = rows.length === 0 && !isLoading;
  if (isEmpty && empty) return <>{empty}</>;
  const tracks = [...(selection ? ["36px"] : []), ...columns.map((column) => column.width ?? "minmax(0, 1fr)")].join(" ");
  return (
    <div ref={scroller} className={cx(styles.scroller, maxHeight === undefined ? styles.fill : styles.within)} style={{ maxHeight }}>
      {/* eslint-disable-next-line jsx-a11y/interactive-supports-focus -- its rows take the focus */}
      <div
        role="grid"
        aria-label={label}
        aria-rowcount={more?.hasMore ? -1 : rows.length + 1}
        aria-multiselectable={selection ? true : undefined}
        aria-busy={isLoading || undefined}
        className={styles.table}
        style={{ "--tracks": tracks } as React.CSSProperties}
        onKeyDown={onKeyDown}
      >
        <Head {...props} onSelectAll={(all) => selection?.onChange(new Set(all ? rows.map(rowKey) : []))} />
        <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const row = rows[index];
            return (
              row !== undefined && (
                <TableRow
                  key={rowKey(row)}
                  {...{ row, index, start, columns, href, rowName, rowKey }}
                  isActive={index === active}
                  isSelected={selection ? selection.selected.has(rowKey(row)) : undefined}
                  onSelect={select}
                  onActive={setActive}
                />
              )
            );
          })}
        </div>
      </div>
      {isLoading && rows.length === 0 && <Waiting />}
      {more?.hasMore && (
        <div className={styles.more}>
          <Button small busy={more.isLoading} onClick={more.load}>
            {more.isLoading ? text.common.loading : text.common.loadMore}
          </Button>
        </div>
      )}
    </div>
  );
}

function useRows(count: number, active: number, scroller: React.RefObject<HTMLDivElement | null>) {
  // eslint-disable-next-line react-hooks/incompatible-library -- its answers are used in this render alone
  return useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
    scrollPaddingStart: ROW_HEIGHT,
    initialRect: { width: 0, height: 720 },
    // The row with the focus is kept when it is scrolled out of sight, and the focus with it.
    rangeExtractor: (range) => [...new Set([...defaultRangeExtractor(range), ...(count > 0 ? [active] : [])])].sort((one, other) => one - other),
  });
}

/** Ask for the next page when the last rows come into sight. */
function useMore(virtual: Virtualizer<HTMLDivElement, Element>, rows: number, more: TableProps<unknown>["more"]): void {
  const last = virtual.range?.endIndex ?? 0;
  const wants = rows > 0 && last >= rows - 5 && more?.hasMore === true && !more.isLoading;
  const load = more?.load;
  useEffect(() => {
    if (wants) load?.();
  }, [wants, load]);
}

function Head<Row>({ columns, rows, selection, sort, onSort, onSelectAll }: TableProps<Row> & { onSelectAll: (all: boolean) => void }) {
  const chosen = selection?.selected.size ?? 0;
  const all = chosen > 0 && (chosen >= rows.length || "indeterminate");
  return (
    <div role="rowgroup" className={styles.head}>
      <div role="row" aria-rowindex={1} className={styles.row}>
        {selection && (
          <div role="columnheader" className={styles.cell}>
            <Checkbox checked={all} onChange={onSelectAll} labelHidden>
              {text.common.selectAll}
            </Checkbox>
          </div>
        )}
        {columns.map((column) => (
          <HeadCell key={column.id} column={column} sort={sort} onSort={onSort} />
        ))}
      </div>
    </div>
  );
}

interface HeadCellProps<Row> {
  column: Column<Row>;
  sort: Sort | undefined;
  onSort: ((sort: Sort) => void) | undefined;
}

function HeadCell<Row>({ column, sort, onSort }: HeadCellProps<Row>) {
  const isSorted = sort?.column === column.id;
  const Arrow = sort?.descending ? ArrowDown : ArrowUp;
  return (
    <div
      role="columnheader"
      aria-sort={isSorted ? (sort.descending ? "descending" : "ascending") : undefined}
      className={cx(styles.cell, column.align && styles.end)}
    >
      {column.sortable && onSort ? (
        <button
          type="button"
          className={styles.sort}
          onClick={() => onSort({ column: column.id, descending: isSorted ? !sort.descending : true })}
        >
          {column.title}
          {isSorted && <Arrow size={12} aria-hidden />}
        </button>
      ) : (
        column.title
      )}
    </div>
  );
}

function Waiting() {
  if (!useLate(true)) return null;
  return (
    <div role="status" aria-label={text.common.loading}>
      {Array.from({ length: SKELETON_ROWS }, (_, row) => (
        <div key={row} className={styles.waiting}>
          <span style={{ width: `${60 - ((row * 13) % 30)}%` }} />
        </div>
      ))}
    </div>
  );
}
