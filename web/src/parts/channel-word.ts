import type { Channel } from "@tidings/client";
import { text } from "../text";

/** What a channel is called. */
export function channelWord(channel: Channel): string {
  return text.channels[channel] ?? channel;
}
