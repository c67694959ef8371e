import type { ReactNode } from "react";
import { Link } from "wouter";
import { text } from "../text";
import { Checkbox } from "./checkbox";
import { cx } from "./cx";
import type { Column } from "./table";
import styles from "./table.module.css";

interface TableRowProps<Row> {
  row: Row;
  index: number;
  start: number;
  columns: readonly Column<Row>[];
  rowKey: (row: Row) => string;
  rowName: ((row: Row) => string) | undefined;
  href: ((row: Row) => string) | undefined;
  isActive: boolean;
  /** `undefined` in a table without a selection. */
  isSelected: boolean | undefined;
  onSelect: (index: number, range: boolean) => void;
  onActive: (index: number) => void;
}

/** One row of a table; exactly one of them is in the tab order. */
export function TableRow<Row>(props: TableRowProps<Row>) {
  const { row, index, start, columns, rowKey, rowName, href, isActive, isSelected, onSelect, onActive } = props;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      data-row={index}
      tabIndex={isActive ? 0 : -1}
      className={cx(styles.row, styles.body, href && styles.links, isSelected && styles.selected)}
      style={{ transform: `translateY(${start}px)` }}
      onFocus={() => onActive(index)}
    >
      {isSelected !== undefined && (
        <div role="gridcell" className={cx(styles.cell, styles.above)}>
          <Checkbox
            checked={isSelected}
            tabIndex={-1}
            labelHidden
            onChange={() => undefined}
            onClick={(event) => onSelect(index, event.shiftKey)}
          >
            {text.common.select(rowName?.(row) ?? rowKey(row))}
          </Checkbox>
        </div>
      )}
      {columns.map((column, place) => (
        <div key={column.id} role="gridcell" className={cx(styles.cell, column.align && styles.end)}>
          {place === 0 && href ? <RowLink href={href(row)}>{column.cell(row)}</RowLink> : column.cell(row)}
        </div>
      ))}
    </div>
  );
}

function RowLink({ href, children }: { href: string; children: ReactNode }) {
  return (
    <Link href={href} tabIndex={-1} className={styles.link}>
      {children}
    </Link>
  );
}
