import type { Channel, Preview } from "@tidings/client";

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
