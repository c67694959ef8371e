import { Check, Minus } from "lucide-react";
import { Checkbox as Radix } from "radix-ui";
import { type MouseEvent, type ReactNode, useId } from "react";
import styles from "./field.module.css";

interface CheckboxProps {
  checked: boolean | "indeterminate";
  onChange: (checked: boolean) => void;
  disabled?: boolean;
  onClick?: (event: MouseEvent) => void;
  tabIndex?: number;
  children: ReactNode;
  /** Keep the label for readers of the screen alone, as in a table. */
  labelHidden?: boolean;
}

/** Yes or no, taken when the form is. A switch acts at once. */
export function Checkbox({ checked, onChange, labelHidden, children, ...rest }: CheckboxProps) {
  const id = useId();
  return (
    <span className={styles.choice}>
      <Radix.Root id={id} className={styles.box} checked={checked} onCheckedChange={(now) => onChange(now === true)} {...rest}>
        <Radix.Indicator>
          {checked === "indeterminate" ? <Minus size={12} strokeWidth={3} aria-hidden /> : <Check size={12} strokeWidth={3} aria-hidden />}
        </Radix.Indicator>
      </Radix.Root>
      <label htmlFor={id} className={labelHidden ? "visually-hidden" : undefined}>
        {children}
      </label>
    </span>
  );
}
