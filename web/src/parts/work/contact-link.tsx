import type { ContactName } from "@tidings/client";
import { Link } from "wouter";
import { contactLabel } from "./names";

/** A contact by name, leading to their story. */
export function ContactLink({ contact, contactId }: { contact: ContactName | null; contactId: string | null }) {
  const label = contactLabel({ contact, contactId });
  if (label === undefined) return <span aria-hidden>–</span>;
  return contact ? <Link href={`/contacts/${contactId ?? contact.externalId}`}>{label}</Link> : <span>{label}</span>;
}
