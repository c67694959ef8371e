import type { Channel, Preview } from "@tidings/client";
import { MessagePreview } from "../../screens/workflows/preview/message-preview";
import { text } from "../../text";
import { JsonView } from "../work/json-view";

interface SentMessageProps {
  channel: Channel;
  recipient: string;
  /** What its provider got. */
  payload: Readonly<Record<string, unknown>>;
}

/** The letter or the request as its provider got it. */
export function SentMessage({ channel, recipient, payload }: SentMessageProps) {
  if (channel === "function") return <JsonView value={payload} label={text.messages.request} />;
  return <MessagePreview preview={asPreview(channel, recipient, payload)} />;
}

/** A stored payload in the form of a preview: texts as they are, what has parts as JSON. */
export function asPreview(channel: Channel, recipient: string, payload: Readonly<Record<string, unknown>>): Preview {
  const content = Object.entries(payload)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]);
  return {
    channel,
    part: null,
    contactId: null,
    contact: null,
    recipients: [recipient],
    content: Object.fromEntries(content) as Record<string, string>,
    size: null,
    segments: null,
    problems: [],
    error: null,
    skipped: null,
  };
}
