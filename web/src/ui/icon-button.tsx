import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import styles from "./button.module.css";
import { cx } from "./cx";
import { Tooltip } from "./tooltip";

interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** What it does: its accessible name, and its tooltip. */
  label: string;
  small?: boolean;
  children: ReactNode;
  ref?: Ref<HTMLButtonElement>;
}

/** A button that shows an icon alone. */
export function IconButton({ label, small, className, children, ...rest }: IconButtonProps) {
  return (
    <Tooltip text={label}>
      <button type="button" aria-label={label} className={cx(styles.icon, small && styles.iconSmall, className)} {...rest}>
        {children}
      </button>
    </Tooltip>
  );
}
