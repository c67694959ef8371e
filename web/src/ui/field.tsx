import { createContext, type ReactNode, use, useId } from "react";
import { cx } from "./cx";
import styles from "./field.module.css";

interface FieldIds {
  id: string;
  describedBy: string | undefined;
  invalid: boolean;
  required: boolean;
}

const FieldContext = createContext<FieldIds | null>(null);

interface FieldProps {
  label: ReactNode;
  hint?: ReactNode;
  /** What is wrong with what was given; see `problemAt`. */
  problem?: ReactNode;
  required?: boolean;
  /** Keep the label for readers of the screen alone. */
  labelHidden?: boolean;
  className?: string;
  children: ReactNode;
}

/** A label, one control, and below it a hint or what is wrong. The control finds its ids by itself. */
export function Field({ label, hint, problem, required = false, labelHidden, className, children }: FieldProps) {
  const id = useId();
  const noteId = `${id}-note`;
  const hasNote = Boolean(problem ?? hint);
  return (
    <FieldContext value={{ id, describedBy: hasNote ? noteId : undefined, invalid: Boolean(problem), required }}>
      <div className={cx(styles.field, className)}>
        <label id={labelOf(id)} htmlFor={id} className={labelHidden ? "visually-hidden" : styles.label}>
          {label}
        </label>
        {children}
        {hasNote && (
          <div id={noteId} className={problem ? styles.problem : styles.hint}>
            {problem ?? hint}
          </div>
        )}
      </div>
    </FieldContext>
  );
}

/** The id of a field's label, for a control that a `label` cannot name, since it is no form element. */
export function labelOf(id: string): string {
  return `${id}-label`;
}

/** What a control inside a field puts on its element. */
export function useField() {
  const field = use(FieldContext);
  if (!field) return {};
  return {
    id: field.id,
    "aria-describedby": field.describedBy,
    "aria-invalid": field.invalid || undefined,
    "aria-required": field.required || undefined,
  };
}
