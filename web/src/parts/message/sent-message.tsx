import type { Channel } from "@tidings/client";
import { MessagePreview } from "../../screens/workflows/preview/message-preview";
import { text } from "../../text";
import { JsonView } from "../work/json-view";
import { asPreview } from "./as-preview";

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
