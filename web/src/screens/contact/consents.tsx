import type { Contact, GivenContact } from "@tidings/client";
import { useState } from "react";
import { api } from "../../api/client";
import { invalidate } from "../../api/queries";
import { CONTACT_CHANNELS } from "../../parts/audience/fields";
import { channelWord } from "../../parts/channel-word";
import { text } from "../../text";
import { Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Select } from "../../ui/select";
import { Tooltip } from "../../ui/tooltip";
import { exactTime } from "../../ui/times";
import styles from "./contact.module.css";

const words = text.contacts;
const CONSENT = Object.entries(words.consentState).map(([value, label]) => ({ value, label }));
const SUPPRESSION = Object.entries(words.suppression).map(([value, label]) => ({ value, label }));

interface Stated {
  value: string;
  about: string | undefined;
}

/** What the person said about each channel, and why nothing is sent over it whatever they said. */
export function Consents({ contact, mayChange }: { contact: Contact; mayChange: boolean }) {
  const [problem, setProblem] = useState<unknown>(null);
  const save = (change: GivenContact) => {
    setProblem(null);
    api.contacts.update(contact.id, change).then(() => invalidate("/v1/contacts", "/v1/audiences"), setProblem);
  };
  return (
    <Section title={words.consent} about={words.consentAbout}>
      <table className={styles.consents}>
        <thead>
          <tr>
            <th scope="col">{words.channel}</th>
            <th scope="col">{words.said}</th>
            <th scope="col">{words.sending}</th>
          </tr>
        </thead>
        <tbody>
          {CONTACT_CHANNELS.map((channel) => (
            <tr key={channel}>
              <th scope="row">{channelWord(channel)}</th>
              <Choice
                label={words.consentOf(channelWord(channel))}
                stated={statedIn(contact.consent[channel], "unknown", "status")}
                options={CONSENT}
                disabled={!mayChange}
                onChange={(value) => save({ consent: { [channel]: value === "unknown" ? null : value } })}
              />
              <Choice
                label={words.suppressionOf(channelWord(channel))}
                stated={statedIn(contact.suppressions[channel], "none", "reason")}
                options={SUPPRESSION}
                disabled={!mayChange}
                onChange={(value) => save({ suppressions: { [channel]: value === "none" ? null : value } })}
              />
            </tr>
          ))}
        </tbody>
      </table>
      {problem !== null && <Problem error={problem} />}
    </Section>
  );
}

/** The API answers a word, or an object with the word, when it was said and where. */
function statedIn(given: unknown, otherwise: string, name: string): Stated {
  if (typeof given === "string") return { value: given, about: undefined };
  if (typeof given !== "object" || given === null) return { value: otherwise, about: undefined };
  const { [name]: value, at, source } = given as Record<string, string | undefined>;
  const about = [at && exactTime(new Date(at)), source].filter(Boolean).join(" · ");
  return { value: value ?? otherwise, about: about || undefined };
}

interface ChoiceProps {
  label: string;
  stated: Stated;
  options: readonly { value: string; label: string }[];
  disabled: boolean;
  onChange: (value: string) => void;
}

function Choice({ label, stated, options, disabled, onChange }: ChoiceProps) {
  const select = <Select small aria-label={label} value={stated.value} options={options} disabled={disabled} onChange={onChange} />;
  return <td>{stated.about ? <Tooltip text={stated.about}>{<span>{select}</span>}</Tooltip> : select}</td>;
}
