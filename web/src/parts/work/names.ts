/** What people, messages and states are called on the screens that watch work. */
import type { ContactName, ItemStatus } from "@tidings/client";
import { text } from "../../text";

interface OfContact {
  contact: ContactName | null;
  contactId: string | null;
}

/** A contact by the first of its names; nothing for what is for nobody. */
export function contactLabel({ contact, contactId }: OfContact): string | undefined {
  if (contact) return contact.name ?? contact.email ?? contact.externalId;
  return contactId === null ? undefined : text.work.deletedContact;
}

interface OfMessage {
  workflowName?: string | null;
  campaignName?: string | null;
  trigger?: string | null;
}

/** What a message is of: its workflow, its campaign, or the trigger of its event. */
export function sourceOf({ workflowName, campaignName, trigger }: OfMessage): string | undefined {
  return workflowName ?? campaignName ?? trigger ?? undefined;
}

/** The state of a message: doubt hides behind `queued`. */
export function stateOf({ status, inDoubt }: { status: ItemStatus; inDoubt: boolean }): ItemStatus | "inDoubt" {
  return inDoubt ? "inDoubt" : status;
}

/** A state as a log writes it, in snake_case. */
export function stateInLog(status: string): string {
  return status === "in_doubt" ? "inDoubt" : status;
}

/** Choices of a select from a table of texts. */
export function optionsOf<Name extends string>(words: Readonly<Record<string, string>>, names: readonly Name[]): { value: Name; label: string }[] {
  return names.map((name) => ({ value: name, label: words[name] ?? name }));
}

export const CHANNELS = ["email", "sms", "whatsapp", "push", "voice", "social", "chat", "webhook", "function"] as const;
