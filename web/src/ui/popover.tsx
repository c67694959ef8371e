import { Popover as Radix } from "radix-ui";
import type { ReactElement, ReactNode } from "react";
import styles from "./popover.module.css";

interface PopoverProps {
  label: string;
  /** The button that opens it. */
  trigger: ReactElement;
  align?: "start" | "center" | "end";
  open?: boolean;
  onOpenChange?: (open: boolean) => void;
  children: ReactNode;
}

/** A small panel beside a button; Escape and a click elsewhere close it. */
export function Popover({ label, trigger, align = "start", open, onOpenChange, children }: PopoverProps) {
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content aria-label={label} className={styles.panel} align={align} sideOffset={4} collisionPadding={8}>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
