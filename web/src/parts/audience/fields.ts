/** What a filter can ask of a contact, and how each is compared. The words stand in `text.audience`. */
import { channelWord } from "../channel-word";
import { text } from "../../text";

export type FieldKind = "text" | "label" | "attribute" | "time" | "channel" | "consent";

export interface FieldChoice {
  /** `tag`, `company`, `attributes`, `createdAt`, `has`, `consent.email` … */
  name: string;
  label: string;
  kind: FieldKind;
}

export const CONTACT_CHANNELS = ["email", "sms", "whatsapp", "push", "voice"] as const;
export const CONSENTS = ["granted", "withdrawn", "unknown"] as const;

/** What a comparison is called in the builder; `isNot` and `isOneOf` are those of tags, which have no `op`. */
export const OPERATORS: Readonly<Record<FieldKind, readonly string[]>> = {
  label: ["is", "isNot", "isOneOf"],
  text: ["equals", "notEquals", "contains", "in", "exists", "missing"],
  attribute: ["equals", "notEquals", "contains", "in", "greater", "greaterOrEqual", "less", "lessOrEqual", "before", "after", "exists", "missing"],
  time: ["after", "before"],
  channel: ["is", "isNot"],
  consent: ["is", "isNot"],
};

export const WITHOUT_VALUE: readonly string[] = ["exists", "missing"];

const KINDS: Readonly<Record<string, FieldKind>> = {
  tag: "label",
  attributes: "attribute",
  company: "text",
  status: "text",
  name: "text",
  email: "text",
  phone: "text",
  locale: "text",
  timeZone: "text",
  externalId: "text",
  createdAt: "time",
  updatedAt: "time",
  allows: "channel",
  has: "channel",
};

export const FIELDS: readonly FieldChoice[] = [
  ...Object.entries(KINDS).map(([name, kind]) => ({ name, kind, label: text.audience.fields[name as keyof typeof text.audience.fields] })),
  ...CONTACT_CHANNELS.map((channel) => ({
    name: `consent.${channel}`,
    kind: "consent" as const,
    label: text.audience.consentTo(channelWord(channel)),
  })),
];

export function kindOf(field: string): FieldKind {
  return field.startsWith("consent.") ? "consent" : (KINDS[field] ?? "attribute");
}
