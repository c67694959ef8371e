import type { ItemDetail } from "@tidings/client";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { text } from "../../text";
import { Id } from "../../ui/id";
import { KeyValue } from "../../ui/key-value";
import { Time } from "../../ui/time";
import { ContactLink } from "../work/contact-link";

const words = text.messages;

/** Whose a message is, where it comes from, and every id of it. */
export function MessageFacts({ item: one }: { item: ItemDetail }) {
  return (
    <KeyValue
      pairs={[
        [text.work.contact, one.contactId && <ContactLink contact={one.contact} contactId={one.contactId} />],
        [text.work.channel, text.work.channels[one.channel]],
        [text.work.provider, one.provider],
        [words.connection, one.connection],
        [text.work.workflow, one.workflowName],
        [words.execution, one.executionId && <LinkedId href={`/executions/${one.executionId}${one.node ? `?node=${encodeURIComponent(one.node)}` : ""}`} id={one.executionId} />],
        [words.node, one.node && <code>{one.node}</code>],
        [text.work.campaign, one.campaignName],
        [words.run, one.runId && <LinkedId href={`/runs/${one.runId}`} id={one.runId} />],
        [words.job, one.jobId && <Id id={one.jobId} />],
        [words.trigger, one.trigger],
        [words.event, one.eventId && <Id id={one.eventId} />],
        [words.attempts, one.attempts || undefined],
        [words.providerMessageId, one.providerMessageId && <code>{one.providerMessageId}</code>],
        [words.key, one.idempotencyKey && <Id id={one.idempotencyKey} />],
        [words.firstCalled, one.firstCalledAt && <Time at={one.firstCalledAt} exact />],
        [words.retryAt, one.retryAt && <Time at={one.retryAt} exact />],
        [text.work.created, <Time key="created" at={one.createdAt} exact />],
        [words.ended, one.finalizedAt && <Time at={one.finalizedAt} exact />],
      ]}
    />
  );
}

function LinkedId({ href, id }: { href: string; id: string }): ReactNode {
  return (
    <>
      <Link href={href}>{words.open}</Link> <Id id={id} />
    </>
  );
}
