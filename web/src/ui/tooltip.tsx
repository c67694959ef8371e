import { Tooltip as Radix } from "radix-ui";
import type { ReactElement, ReactNode } from "react";
import styles from "./popover.module.css";

interface TooltipProps {
  text: ReactNode;
  side?: "top" | "right" | "bottom" | "left";
  /** One element that takes the focus or the pointer. */
  children: ReactElement;
}

/** A few words about what the pointer or the focus is on; never the only place where something is said. */
export function Tooltip({ text, side = "top", children }: TooltipProps) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content className={styles.tooltip} side={side} sideOffset={6} collisionPadding={8}>
          {text}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** Stands once around the page. */
export function TooltipProvider({ children }: { children: ReactNode }) {
  return (
    <Radix.Provider delayDuration={400} skipDelayDuration={200}>
      {children}
    </Radix.Provider>
  );
}
