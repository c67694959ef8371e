import { Search, X } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useSearchParams } from "wouter";
import { text } from "../text";
import { Button } from "./button";
import { cx } from "./cx";
import fieldStyles from "./field.module.css";
import styles from "./filter-bar.module.css";
import { type Option, Select } from "./select";
import { TextInput } from "./text-input";
import { useQueryValue, withValue } from "./use-query";

const TYPING_MS = 250;

/** What a list can be narrowed by; each keeps its value in the URL's query under its name. */
export type Filter =
  | { kind: "search"; name: string; label: string }
  | { kind: "select"; name: string; label: string; options: readonly Option[] }
  | { kind: "text"; name: string; label: string; mono?: boolean }
  | { kind: "time"; name: string; label: string };

/** The filters of a list. They live in the URL, so that a list can be handed on and the back button works. */
export function FilterBar({ filters, children }: { filters: readonly Filter[]; children?: ReactNode }) {
  const [params, setParams] = useSearchParams();
  const isFiltered = filters.some((filter) => params.get(filter.name));
  const clear = () => setParams((now) => filters.reduce((left, filter) => withValue(left, filter.name, ""), now));
  return (
    <div className={styles.bar} role="search">
      {filters.map((filter) => (
        <FilterControl key={filter.name} filter={filter} />
      ))}
      {isFiltered && (
        <Button kind="quiet" small icon={<X size={14} aria-hidden />} onClick={clear}>
          {text.common.clearFilters}
        </Button>
      )}
      {children && <div className={styles.more}>{children}</div>}
    </div>
  );
}

function FilterControl({ filter }: { filter: Filter }) {
  const [value, setValue] = useQueryValue(filter.name);
  if (filter.kind === "select") {
    const options = [{ value: "", label: filter.label }, ...filter.options];
    return (
      <Select
        small
        className={cx(styles.select, value && styles.set)}
        aria-label={filter.label}
        value={value}
        options={options}
        onChange={setValue}
      />
    );
  }
  if (filter.kind === "time") {
    return <TimeFilter label={filter.label} value={value} onChange={setValue} />;
  }
  return <TypedFilter filter={filter} value={value} onChange={setValue} />;
}

interface TypedFilterProps {
  filter: Extract<Filter, { kind: "search" | "text" }>;
  value: string;
  onChange: (value: string) => void;
}

function TypedFilter({ filter, value, onChange }: TypedFilterProps) {
  const [typed, setTyped] = useTyped(value, onChange);
  const input = useRef<HTMLInputElement>(null);
  const isSearch = filter.kind === "search";
  return (
    <span className={cx(styles.typed, isSearch && styles.search)}>
      {isSearch && <Search size={14} aria-hidden />}
      <TextInput
        ref={input}
        small
        type={isSearch ? "search" : "text"}
        mono={filter.kind === "text" && filter.mono}
        data-search={isSearch || undefined}
        aria-label={filter.label}
        placeholder={filter.label}
        value={typed}
        spellCheck={false}
        onChange={setTyped}
        onKeyDown={(event) => event.key === "Escape" && (typed ? setTyped("") : input.current?.blur())}
      />
    </span>
  );
}

function TimeFilter({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  return (
    <label className={styles.time}>
      <span>{label}</span>
      <input
        type="datetime-local"
        className={cx(fieldStyles.control, fieldStyles.small)}
        value={localTime(value)}
        onChange={(event) => onChange(event.target.value ? new Date(event.target.value).toISOString() : "")}
      />
    </label>
  );
}

/** What the browser's field for a time wants: the reader's own clock without a zone. */
export function localTime(at: string): string {
  if (!at) return "";
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** What is typed at once, and told a moment after the last letter. */
function useTyped(value: string, onChange: (value: string) => void): [string, (typed: string) => void] {
  const [typed, setTyped] = useState(value);
  const [known, setKnown] = useState(value);
  if (known !== value) {
    setKnown(value);
    setTyped(value);
  }
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => {
      setKnown(typed);
      onChange(typed);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, value, onChange]);
  return [typed, setTyped];
}
