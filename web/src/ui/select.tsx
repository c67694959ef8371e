import type { SelectHTMLAttributes } from "react";
import { cx } from "./cx";
import { useField } from "./field";
import styles from "./field.module.css";

export interface Option<Value extends string = string> {
  value: Value;
  label: string;
  disabled?: boolean;
}

interface SelectProps<Value extends string> extends Omit<SelectHTMLAttributes<HTMLSelectElement>, "onChange" | "value"> {
  value: Value;
  options: readonly Option<Value>[];
  onChange: (value: Value) => void;
  small?: boolean;
}

/** One of a few: the browser's own list, which every keyboard and every phone knows. */
export function Select<Value extends string>({ value, options, onChange, small, className, ...rest }: SelectProps<Value>) {
  return (
    <select
      {...useField()}
      className={cx(styles.control, styles.select, small && styles.small, className)}
      value={value}
      onChange={(event) => onChange(event.target.value as Value)}
      {...rest}
    >
      {options.map((option) => (
        <option key={option.value} value={option.value} disabled={option.disabled}>
          {option.label}
        </option>
      ))}
    </select>
  );
}
