import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { text } from "../text";
import { cx } from "./cx";
import styles from "./dialog.module.css";
import { IconButton } from "./icon-button";

/** The first field has the focus, or else the dialog itself: never the button that closes it. */
function focusField(event: Event): void {
  if (!(event.target instanceof HTMLElement)) return;
  event.preventDefault();
  (event.target.querySelector<HTMLElement>("input:not([type='hidden']), select, textarea, [contenteditable='true']") ?? event.target).focus();
}

interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  /** One sentence below the title. */
  about?: ReactNode;
  /** The buttons, the one that acts last. */
  actions?: ReactNode;
  wide?: boolean;
  children?: ReactNode;
}

/** Something to finish or to leave before going on; Escape leaves it. */
export function Dialog({ open, onClose, title, about, actions, wide, children }: DialogProps) {
  return (
    <Radix.Root open={open} onOpenChange={(now) => !now && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className={styles.overlay} />
        <Radix.Content className={cx(styles.dialog, wide && styles.wide)} {...(about ? {} : { "aria-describedby": undefined })} onOpenAutoFocus={focusField}>
          <header className={styles.head}>
            <Radix.Title>{title}</Radix.Title>
            <Radix.Close asChild>
              <IconButton label={text.common.close} small>
                <X size={16} aria-hidden />
              </IconButton>
            </Radix.Close>
          </header>
          {about && <Radix.Description className={styles.about}>{about}</Radix.Description>}
          {children && <div className={styles.body}>{children}</div>}
          {actions && <footer className={styles.actions}>{actions}</footer>}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
