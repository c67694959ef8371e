import { type ReactNode, useEffect } from "react";
import { text } from "../text";
import styles from "./entrance.module.css";
import { Logo } from "./logo";

/** What stands around a form for somebody who is not signed in. */
export function Entrance({ title, about, children }: { title: string; about?: ReactNode; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · ${text.common.product}`;
  }, [title]);
  return (
    <main className={styles.entrance}>
      <div className={styles.sheet}>
        <span className={styles.mark}>
          <Logo size={22} />
        </span>
        <h1>{title}</h1>
        {about && <p className={styles.about}>{about}</p>}
        {children}
      </div>
    </main>
  );
}
