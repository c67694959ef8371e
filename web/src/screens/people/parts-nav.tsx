import { Link, useLocation } from "wouter";
import { text } from "../../text";
import { cx } from "../../ui/cx";
import styles from "./people.module.css";

const PARTS = [
  { href: "/people", label: text.people.people },
  { href: "/people/keys", label: text.apiKeys.title },
];

/** The two lists of this screen, each with an address of its own. */
export function PartsNav() {
  const [path] = useLocation();
  return (
    <nav aria-label={text.people.parts} className={styles.parts}>
      {PARTS.map((part) => (
        <Link key={part.href} href={part.href} aria-current={path === part.href ? "page" : undefined} className={cx(styles.part, path === part.href && styles.current)}>
          {part.label}
        </Link>
      ))}
    </nav>
  );
}
