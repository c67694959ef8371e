import { useState } from "react";
import { isNotFound, useRead } from "../../api/queries";
import { useMay } from "../../api/session";
import { AsSent } from "../../parts/message/as-sent";
import { MessageFacts } from "../../parts/message/message-facts";
import { ResolveDialog } from "../../parts/message/resolve-dialog";
import { TriedList } from "../../parts/message/tried-list";
import { stateOf } from "../../parts/work/names";
import { Note } from "../../parts/work/note";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { Id } from "../../ui/id";
import { Page, Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Split } from "../../ui/split";
import { Status, Tag } from "../../ui/status";
import type { ScreenProps } from "../registry";

const words = text.messages;
const EVERY_MS = 4_000;

/** One message or call: what was sent, every attempt, and what is known about it. */
export default function MessageScreen({ params }: ScreenProps) {
  const id = params["id"] ?? "";
  const { data: item, error } = useRead("GET /v1/outbox/{id}", { path: { id } }, { every: EVERY_MS });
  const mayResolve = useMay("operate");
  const [asking, setAsking] = useState(false);
  const back = { href: "/outbox", label: words.title };
  if (!item) {
    return (
      <Page title={words.title} back={back}>
        {isNotFound(error) ? <EmptyState title={text.notFound.title} about={words.nothingFits} /> : error ? <Problem error={error} /> : <Skeleton lines={6} />}
      </Page>
    );
  }
  const actions = item.inDoubt && mayResolve && (
    <Button kind="primary" onClick={() => setAsking(true)}>
      {text.inDoubt.resolve}
    </Button>
  );
  const status = (
    <>
      <Status state={stateOf(item)} />
      {item.printed && <Tag>{text.work.printed}</Tag>}
      <Id id={item.id} whole />
    </>
  );
  return (
    <Page title={item.recipient || words.title} back={back} status={status} actions={actions || undefined}>
      {item.inDoubt && <Note tone="doubt">{text.inDoubt.about}</Note>}
      <Split
        sideWidth={420}
        main={
          <>
            <Section title={item.finalizedAt || item.firstCalledAt ? words.asSent : words.asPlanned}>
              <AsSent item={item} />
            </Section>
            <Section title={words.tried}>
              <TriedList item={item} />
            </Section>
          </>
        }
        side={
          <Section title={words.facts}>
            <MessageFacts item={item} />
          </Section>
        }
      />
      {asking && <ResolveDialog which={{ ids: [item.id] }} onClose={() => setAsking(false)} />}
    </Page>
  );
}
