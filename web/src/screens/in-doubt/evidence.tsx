import { Link } from "wouter";
import { isNotFound, useRead } from "../../api/queries";
import { useShortcuts } from "../../shell/keys";
import { AsSent } from "../../parts/message/as-sent";
import { MessageFacts } from "../../parts/message/message-facts";
import { TriedList } from "../../parts/message/tried-list";
import { stateOf } from "../../parts/work/names";
import { Note } from "../../parts/work/note";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Status } from "../../ui/status";
import styles from "./in-doubt.module.css";

const words = text.inDoubt;

/** What is known about one message: what its provider said, whose it is, and what was sent. */
export function Evidence({ id, onResolve }: { id: string; onResolve: (() => void) | undefined }) {
  const { data: item, error } = useRead("GET /v1/outbox/{id}", { path: { id } });
  useShortcuts(item?.inDoubt && onResolve ? [{ keys: "Mod+Enter", label: words.resolveOne, run: onResolve }] : []);
  if (error) return isNotFound(error) ? <p className={styles.pick}>{words.notFound(1)}</p> : <Problem error={error} />;
  if (!item) return <Skeleton lines={6} />;
  return (
    <div className={styles.evidence}>
      <header>
        <div>
          <h2>
            <Link href={`/outbox/${item.id}`}>{item.recipient}</Link>
          </h2>
          <Status state={stateOf(item)} />
        </div>
        {item.inDoubt && onResolve && (
          <Button kind="primary" small onClick={onResolve}>
            {words.resolve}
          </Button>
        )}
      </header>
      {item.error && <Note tone={item.inDoubt ? "doubt" : "bad"}>{item.error}</Note>}
      <Section title={text.messages.tried}>
        <TriedList item={item} />
      </Section>
      <Section title={text.messages.facts}>
        <MessageFacts item={item} />
      </Section>
      <Section title={text.messages.asSent}>
        <AsSent item={item} />
      </Section>
    </div>
  );
}
