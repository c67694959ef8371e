import { Check } from "lucide-react";
import { DropdownMenu as Radix } from "radix-ui";
import type { ReactElement, ReactNode } from "react";
import { Link } from "wouter";
import { cx } from "./cx";
import styles from "./popover.module.css";

interface MenuProps {
  /** The button that opens it. */
  trigger: ReactElement;
  align?: "start" | "center" | "end";
  side?: "top" | "right" | "bottom" | "left";
  children: ReactNode;
}

/** A list of things to do, opened by a button; arrows and letters move in it. */
export function Menu({ trigger, align = "start", side = "bottom", children }: MenuProps) {
  return (
    <Radix.Root modal={false}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content className={styles.menu} align={align} side={side} sideOffset={4} collisionPadding={8}>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

interface MenuItemProps {
  icon?: ReactNode;
  danger?: boolean;
  disabled?: boolean;
  onSelect: () => void;
  children: ReactNode;
}

export function MenuItem({ icon, danger, disabled, onSelect, children }: MenuItemProps) {
  return (
    <Radix.Item className={cx(styles.item, danger && styles.danger)} disabled={disabled} onSelect={onSelect}>
      {icon}
      {children}
    </Radix.Item>
  );
}

export function MenuLink({ href, icon, children }: { href: string; icon?: ReactNode; children: ReactNode }) {
  return (
    <Radix.Item asChild className={styles.item}>
      <Link href={href}>
        {icon}
        {children}
      </Link>
    </Radix.Item>
  );
}

interface MenuChoiceProps<Value extends string> {
  label: string;
  value: Value;
  options: readonly { value: Value; label: ReactNode }[];
  onChange: (value: Value) => void;
}

/** One of several, the current one with a tick. */
export function MenuChoice<Value extends string>({ label, value, options, onChange }: MenuChoiceProps<Value>) {
  return (
    <>
      <Radix.Label className={styles.label}>{label}</Radix.Label>
      <Radix.RadioGroup value={value} onValueChange={(chosen) => onChange(chosen as Value)}>
        {options.map((option) => (
          <Radix.RadioItem key={option.value} value={option.value} className={styles.item}>
            {option.label}
            <span className={styles.check}>
              <Radix.ItemIndicator>
                <Check size={14} aria-hidden />
              </Radix.ItemIndicator>
            </span>
          </Radix.RadioItem>
        ))}
      </Radix.RadioGroup>
    </>
  );
}

export function MenuSeparator() {
  return <Radix.Separator className={styles.separator} />;
}
