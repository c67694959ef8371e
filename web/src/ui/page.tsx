import { ChevronLeft } from "lucide-react";
import { type ReactNode, useEffect } from "react";
import { Link } from "wouter";
import { text } from "../text";
import { cx } from "./cx";
import styles from "./page.module.css";

interface PageProps {
  /** Also the document's title. */
  title: string;
  /** What is shown for the title when it is more than a word. */
  heading?: ReactNode;
  /** How many, in quiet figures beside the title. */
  count?: ReactNode;
  /** The state or the kind, beside the title. */
  status?: ReactNode;
  /** Where a detail belongs: the list above it. */
  back?: { href: string; label: string };
  /** The buttons on the right, the main one last. */
  actions?: ReactNode;
  /** Filters, tabs: what stays in place below the title while the rest scrolls. */
  bar?: ReactNode;
  /** The content scrolls itself, as a table does. */
  fill?: boolean;
  /** Lines that are read rather than scanned. */
  narrow?: boolean;
  children: ReactNode;
}

/** A screen: its title row, and below it what scrolls. */
export function Page({ title, heading, count, status, back, actions, bar, fill, narrow, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · ${text.common.product}`;
  }, [title]);
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <div className={styles.names}>
          {back && (
            <Link href={back.href} className={styles.back}>
              <ChevronLeft size={14} aria-hidden />
              {back.label}
            </Link>
          )}
          <div className={styles.title}>
            <h1 tabIndex={-1}>{heading ?? title}</h1>
            {count !== undefined && <span className={styles.count}>{count}</span>}
            {status}
          </div>
        </div>
        {actions && <div className={styles.actions}>{actions}</div>}
      </header>
      {bar && <div className={styles.bar}>{bar}</div>}
      <div className={cx(styles.content, fill && styles.fill)}>
        {narrow ? <div className={styles.narrow}>{children}</div> : children}
      </div>
    </div>
  );
}

interface SectionProps {
  title: ReactNode;
  about?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** A part of a screen under its own heading. */
export function Section({ title, about, actions, children }: SectionProps) {
  return (
    <section className={styles.section}>
      <header className={styles.sectionHead}>
        <div>
          <h2>{title}</h2>
          {about && <p>{about}</p>}
        </div>
        {actions && <div className={styles.actions}>{actions}</div>}
      </header>
      {children}
    </section>
  );
}
