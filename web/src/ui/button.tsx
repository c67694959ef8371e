import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import { Link } from "wouter";
import styles from "./button.module.css";
import { cx } from "./cx";

export type ButtonKind = "primary" | "plain" | "quiet" | "danger";

interface Looks {
  kind?: ButtonKind;
  small?: boolean;
  icon?: ReactNode;
}

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement>, Looks {
  /** While it works, the button keeps its width and refuses further clicks. */
  busy?: boolean;
  ref?: Ref<HTMLButtonElement>;
}

/** Does something here; `ButtonLink` goes somewhere. */
export function Button({ kind = "plain", small, icon, busy, disabled, className, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      className={cx(styles.button, styles[kind], small && styles.small, busy && styles.busy, className)}
      disabled={disabled}
      aria-busy={busy || undefined}
      {...rest}
      onClick={busy ? undefined : rest.onClick}
    >
      {icon}
      {children}
    </button>
  );
}

interface ButtonLinkProps extends Looks {
  href: string;
  children: ReactNode;
}

/** Looks like a button and is a link. */
export function ButtonLink({ href, kind = "plain", small, icon, children }: ButtonLinkProps) {
  return (
    <Link href={href} className={cx(styles.button, styles[kind], small && styles.small)}>
      {icon}
      {children}
    </Link>
  );
}
