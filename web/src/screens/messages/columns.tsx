import type { Item } from "@tidings/client";
import { ContactLink } from "../../parts/work/contact-link";
import { sourceOf, stateOf } from "../../parts/work/names";
import { text } from "../../text";
import { Id } from "../../ui/id";
import { Status, Tag } from "../../ui/status";
import type { Column } from "../../ui/table";
import { Time } from "../../ui/time";
import styles from "./messages.module.css";

const words = text.messages;

/** The columns of messages, for each list to choose from. */
export const COLUMN = {
  recipient: { id: "recipient", title: text.work.recipient, width: "minmax(0, 1.6fr)", cell: (one) => <Recipient item={one} /> },
  status: { id: "status", title: text.work.status, width: "110px", cell: (one) => <Status state={stateOf(one)} /> },
  contact: { id: "contact", title: text.work.contact, width: "minmax(0, 1.2fr)", cell: (one) => <ContactLink contact={one.contact} contactId={one.contactId} /> },
  source: { id: "source", title: words.from, width: "minmax(0, 1fr)", cell: (one) => sourceOf(one) ?? <span aria-hidden>–</span> },
  channel: { id: "channel", title: text.work.channel, width: "90px", cell: (one) => text.work.channels[one.channel] },
  provider: { id: "provider", title: text.work.provider, width: "110px", cell: (one) => one.connection ?? one.provider },
  error: { id: "error", title: words.error, width: "minmax(0, 1.6fr)", cell: (one) => <span className={one.status === "failed" ? styles.error : undefined}>{one.error}</span> },
  attempts: { id: "attempts", title: words.attempts, width: "70px", align: "end", cell: (one) => one.attempts },
  created: { id: "created", title: text.work.created, width: "100px", cell: (one) => <Time at={one.createdAt} /> },
  ended: { id: "ended", title: words.ended, width: "100px", cell: (one) => <Time at={one.finalizedAt} /> },
  id: { id: "id", title: text.work.id, width: "120px", cell: (one) => <Id id={one.id} /> },
} satisfies Record<string, Column<Item>>;

function Recipient({ item }: { item: Item }) {
  return (
    <>
      {item.recipient || "–"} {item.printed && <Tag>{text.work.printed}</Tag>}
    </>
  );
}
