import { text } from "../../text";

const NAMES: Readonly<Record<string, string>> = text.channels;

/** A channel as people call it; one that this page does not know yet stays as the API calls it. */
export function channelName(channel: string): string {
  return NAMES[channel] ?? channel;
}
