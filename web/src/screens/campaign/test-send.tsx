import type { Campaign, Item } from "@tidings/client";
import { useState } from "react";
import { api } from "../../api/client";
import { problemAt, problemElsewhere } from "../../api/problem";
import { useRead } from "../../api/queries";
import { useSession } from "../../api/session";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { Field } from "../../ui/field";
import { Problem } from "../../ui/problem";
import { Status } from "../../ui/status";
import { TextInput } from "../../ui/text-input";
import { useSubmit } from "../../ui/use-submit";
import { ContactChoice } from "../workflows/preview/contact-choice";
import styles from "./campaign.module.css";

const words = text.campaigns;
const POLL_MS = 1_000;
const OPEN: readonly string[] = ["queued"];

/** One message to an address of one's own, followed until it is known what became of it. */
export function TestSend({ campaign, isChanged }: { campaign: Campaign; isChanged: boolean }) {
  const { user } = useSession();
  const [to, setTo] = useState(campaign.channel === "email" ? (user.email ?? "") : "");
  const [contact, setContact] = useState<{ id: string; label: string } | null>(null);
  const [runId, setRunId] = useState<string | null>(null);
  const { busy, problem, onSubmit } = useSubmit(async () => {
    const run = await api.campaigns.test(campaign.id, { to, ...(contact ? { contactId: contact.id } : {}) });
    setRunId(run.id);
  });
  const elsewhere = problemElsewhere(problem, ["to"]);
  return (
    <form className={styles.test} onSubmit={onSubmit}>
      <div className={styles.pair}>
        <Field label={words.testTo} problem={problemAt(problem, "to")}>
          <TextInput value={to} onChange={setTo} autoComplete="off" />
        </Field>
        <Field label={words.testAs}>
          <ContactChoice sample={{ contact, change: (some) => setContact(some.contact ?? null) }} />
        </Field>
      </div>
      {elsewhere !== null && <Problem error={elsewhere} />}
      <div className={styles.line}>
        <Button type="submit" busy={busy} disabled={!to.trim() || isChanged}>
          {words.testSend}
        </Button>
        {isChanged && <span className={styles.quiet}>{words.saveFirst}</span>}
        {runId && <Outcome key={runId} runId={runId} />}
      </div>
    </form>
  );
}

function Outcome({ runId }: { runId: string }) {
  const [ended, setEnded] = useState(false);
  const { data } = useRead("GET /v1/runs/{id}/items", { path: { id: runId } }, { every: ended ? undefined : POLL_MS });
  const item = data?.data[0];
  const isOver = item !== undefined && !OPEN.includes(item.status);
  if (isOver && !ended) setEnded(true);
  return (
    <span aria-live="polite" className={styles.line}>
      {item ? <Told item={item} /> : <Status state="queued">{words.testState.waiting}</Status>}
    </span>
  );
}

function Told({ item }: { item: Item }) {
  if (item.inDoubt) return <Status state="inDoubt" />;
  if (item.status === "queued") return <Status state="queued">{item.error ?? words.testState.waiting}</Status>;
  if (item.status === "failed" || item.status === "skipped") {
    return (
      <Status state="failed">
        {words.testState.failed} {item.error}
      </Status>
    );
  }
  return <Status state="sent">{words.testState.sent}</Status>;
}
