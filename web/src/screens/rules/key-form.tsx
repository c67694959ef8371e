import { problemAt } from "../../api/problem";
import { channelName } from "../../parts/content/channel";
import { text } from "../../text";
import { Field } from "../../ui/field";
import { Select } from "../../ui/select";
import { TextInput } from "../../ui/text-input";
import type { ChannelForm } from "../workflows/model/schema";
import type { RuleDraft } from "./model/draft";
import styles from "./rules.module.css";

const words = text.rules;
const AUDIENCES = Object.entries(words.audiences).map(([value, label]) => ({ value, label }));

interface KeyFormProps {
  draft: RuleDraft;
  onChange: (some: Partial<RuleDraft>) => void;
  channels: readonly ChannelForm[];
  problem: unknown;
  canEdit: boolean;
}

/** The trigger, the channel and the audience, for which there is one rule. */
export function KeyForm({ draft, onChange, channels, problem, canEdit }: KeyFormProps) {
  const options = channels.map(({ channel }) => ({ value: channel, label: channelName(channel) }));
  return (
    <div className={styles.key}>
      <Field label={words.trigger} hint={words.triggerHint} problem={problemAt(problem, "trigger")} required>
        <TextInput mono required maxLength={100} value={draft.trigger} readOnly={!canEdit} spellCheck={false} onChange={(trigger) => onChange({ trigger })} />
      </Field>
      <Field label={text.message.channel} problem={problemAt(problem, "channel")}>
        <Select value={draft.channel} options={options} disabled={!canEdit} onChange={(channel) => onChange({ channel })} />
      </Field>
      <Field label={words.audience} problem={problemAt(problem, "audience")}>
        <Select value={draft.audience} options={AUDIENCES} disabled={!canEdit} onChange={(audience) => onChange({ audience })} />
      </Field>
    </div>
  );
}
