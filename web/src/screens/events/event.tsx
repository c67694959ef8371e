import type { Event } from "@tidings/client";
import { useState } from "react";
import { api } from "../../api/client";
import { invalidate, isNotFound, useRead } from "../../api/queries";
import { useMay } from "../../api/session";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { CodeEditor } from "../../ui/code-editor";
import { ConfirmDialog } from "../../ui/confirm-dialog";
import { EmptyState } from "../../ui/empty-state";
import { Id } from "../../ui/id";
import { KeyValue } from "../../ui/key-value";
import { Page, Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";
import { toast } from "../../ui/toast";
import type { ScreenProps } from "../registry";
import { Decisions } from "./decisions";

const words = text.events;
const BACK = { href: "/events", label: words.title };
const EVERY_MS = 5_000;

/** One event: what was decided about it, and what has become of what it sends. */
export default function EventDetail({ params }: ScreenProps) {
  const id = params["id"] ?? "";
  const { data: event, error } = useRead("GET /v1/events/{id}", { path: { id } }, { every: EVERY_MS });
  if (event) return <Shown event={event} />;
  return (
    <Page title={words.title} back={BACK}>
      {isNotFound(error) ? <EmptyState title={words.missing} about={words.missingAbout} /> : error ? <Problem error={error} /> : <Skeleton lines={6} />}
    </Page>
  );
}

function Shown({ event }: { event: Event }) {
  return (
    <Page title={event.trigger} back={BACK} status={!event.routedAt && <Status state="waiting">{words.notRouted}</Status>} actions={<Cancel event={event} />}>
      <KeyValue
        columns={2}
        pairs={[
          [words.key, <code key="key">{event.idempotencyKey}</code>],
          ["Id", <Id key="id" id={event.id} />],
          [words.created, <Time key="at" at={event.createdAt} />],
          [words.routed, event.routedAt && <Time at={event.routedAt} />],
          [words.source, event.source],
        ]}
      />
      <Section title={words.decisions}>
        <Decisions decisions={event.decisions} />
      </Section>
      <Section title={words.data}>
        <CodeEditor value={JSON.stringify(event.data, null, 2)} language="json" readOnly lines={false} minHeight={60} maxHeight={420} label={words.data} />
      </Section>
    </Page>
  );
}

/** Offered while something has not been sent. */
function Cancel({ event }: { event: Event }) {
  const canOperate = useMay("operate");
  const [isOpen, setOpen] = useState(false);
  const isLeft = event.decisions.some((decision) => decision.items.some((item) => item.status === "pending"));
  if (!canOperate || !isLeft) return null;
  const cancel = async () => {
    await api.events.cancel(event.id);
    toast(words.cancelled);
    await invalidate("/v1/events");
  };
  return (
    <>
      <Button onClick={() => setOpen(true)}>
        {words.cancel}
      </Button>
      {isOpen && <ConfirmDialog open danger onClose={() => setOpen(false)} title={words.cancel} about={words.cancelAbout} verb={words.cancel} onConfirm={cancel} />}
    </>
  );
}
