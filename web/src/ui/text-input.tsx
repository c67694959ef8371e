import type { InputHTMLAttributes, Ref, TextareaHTMLAttributes } from "react";
import { cx } from "./cx";
import { useField } from "./field";
import styles from "./field.module.css";

interface TextInputProps extends Omit<InputHTMLAttributes<HTMLInputElement>, "onChange"> {
  onChange?: (value: string) => void;
  small?: boolean;
  mono?: boolean;
  ref?: Ref<HTMLInputElement>;
}

/** One line of text; also `type="password"`, `"email"`, `"number"`, `"datetime-local"`. */
export function TextInput({ onChange, small, mono, className, ...rest }: TextInputProps) {
  return (
    <input
      type="text"
      {...useField()}
      className={cx(styles.control, small && styles.small, mono && styles.mono, className)}
      onChange={onChange && ((event) => onChange(event.target.value))}
      {...rest}
    />
  );
}

interface TextAreaProps extends Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, "onChange"> {
  onChange?: (value: string) => void;
  mono?: boolean;
  ref?: Ref<HTMLTextAreaElement>;
}

/** Several lines of text. */
export function TextArea({ onChange, mono, className, ...rest }: TextAreaProps) {
  return (
    <textarea
      {...useField()}
      className={cx(styles.control, styles.area, mono && styles.mono, className)}
      onChange={onChange && ((event) => onChange(event.target.value))}
      {...rest}
    />
  );
}
