import type { ConnectionTest, ProviderConnection } from "@tidings/client";
import { useState } from "react";
import { Link } from "wouter";
import { api } from "../../api/client";
import { invalidate } from "../../api/queries";
import { problemAt, problemElsewhere } from "../../api/problem";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { cx } from "../../ui/cx";
import { Dialog } from "../../ui/dialog";
import { Field } from "../../ui/field";
import { CopyButton } from "../../ui/id";
import { Problem } from "../../ui/problem";
import { Status } from "../../ui/status";
import { TextInput } from "../../ui/text-input";
import { useSubmit } from "../../ui/use-submit";
import { sectionOf } from "../registry";
import styles from "./connections.module.css";

const WAIT_SECONDS = 20;
const BY_DEFAULT = new Set(["chat", "social", "webhook"]);
const words = text.connections.test;

/** Send one real message, and show what the provider and we said to each other. */
export function TestDialog({ one, onClose }: { one: ProviderConnection; onClose: () => void }) {
  const [to, setTo] = useState(BY_DEFAULT.has(one.channel) ? "default" : "");
  const [done, setDone] = useState<ConnectionTest | null>(null);
  const { busy, problem, onSubmit } = useSubmit(async () => {
    setDone(null);
    setDone(await api.connections.test(one.id, { to, waitSeconds: WAIT_SECONDS }));
    void invalidate("/v1/connections");
  });
  const elsewhere = problemElsewhere(problem, ["to"]);
  return (
    <Dialog open wide onClose={onClose} title={words.title(one.name)} about={words.about}>
      <form className={styles.test} onSubmit={onSubmit}>
        <Field label={words.to} hint={words.hints[one.channel]} problem={problemAt(problem, "to")}>
          <TextInput value={to} onChange={setTo} autoComplete="off" spellCheck={false} />
        </Field>
        <Button type="submit" kind="primary" busy={busy} disabled={!to.trim()}>
          {done ? words.again : words.send}
        </Button>
      </form>
      {busy && (
        <p role="status" className={styles.about}>
          {words.waiting}
        </p>
      )}
      {elsewhere !== null && <Problem error={elsewhere} />}
      {done && <Told test={done} />}
    </Dialog>
  );
}

function Told({ test }: { test: ConnectionTest }) {
  return (
    <div className={styles.told} role="status">
      <p className={styles.outcome}>
        <Status state={test.status === "in_doubt" ? "inDoubt" : test.status} />
        {!test.done && <span>{words.notYet}</span>}
        {test.error && <span>{test.error}</span>}
        <span className={styles.links}>
          {test.itemId && <Lead href={`/outbox/${test.itemId}`}>{words.message}</Lead>}
          <Lead href={`/runs/${test.runId}`}>{words.run}</Lead>
        </span>
      </p>
      {test.done && <Dialogue lines={test.dialogue} />}
    </div>
  );
}

/** A way to a screen of this page, where it has that. */
function Lead({ href, children }: { href: string; children: string }) {
  return sectionOf(href) ? <Link href={href}>{children}</Link> : null;
}

function Dialogue({ lines }: { lines: readonly string[] }) {
  return (
    <>
      <div className={styles.dialogueHead}>
        <h3>{words.dialogue}</h3>
        <span>{lines.length ? words.dialogueAbout : words.noDialogue}</span>
        {lines.length > 0 && <CopyButton value={lines.join("\n")} />}
      </div>
      {lines.length > 0 && (
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls
        <pre className={styles.dialogue} tabIndex={0} aria-label={words.dialogue}>
          {lines.map((line, place) => (
            <span key={place} className={cx(line.startsWith(">") && styles.ours, line.startsWith("<") && styles.theirs)}>
              {line}
              {"\n"}
            </span>
          ))}
        </pre>
      )}
    </>
  );
}
