import { Switch as Radix } from "radix-ui";
import { type ReactNode, useId } from "react";
import styles from "./field.module.css";

interface SwitchProps {
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
  children: ReactNode;
}

/** On or off, at once. A checkbox waits for its form. */
export function Switch({ checked, onChange, disabled, children }: SwitchProps) {
  const id = useId();
  return (
    <span className={styles.choice}>
      <Radix.Root id={id} className={styles.track} checked={checked} onCheckedChange={onChange} disabled={disabled}>
        <Radix.Thumb className={styles.thumb} />
      </Radix.Root>
      <label htmlFor={id}>{children}</label>
    </span>
  );
}
