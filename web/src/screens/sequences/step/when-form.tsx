import type { ProblemPlace, Sequence } from "@tidings/client";
import { problemAt } from "../../../api/problem";
import { channelName } from "../../../parts/content/channel";
import { PartFormProvider } from "../../workflows/forms/part-form";
import { DurationControl } from "../../workflows/forms/time-controls";
import type { ChannelForm, NodeTypes } from "../../workflows/model/schema";
import { text } from "../../../text";
import { Field } from "../../../ui/field";
import { Select } from "../../../ui/select";
import { TextInput } from "../../../ui/text-input";
import { hourName } from "../model/summary";
import styles from "./when-form.module.css";

const words = text.sequences.step;

/** What the fields hold while somebody types. */
export interface When {
  days: string;
  hour: string;
  order: string;
  channel: string;
  lateness: string;
}

interface WhenFormProps {
  when: When;
  onChange: (when: When) => void;
  offsetFrom: Sequence["offsetFrom"];
  channels: readonly ChannelForm[];
  /** What is wrong as it is written now, and what was refused. */
  errors: readonly ProblemPlace[];
  problem: unknown;
  canEdit: boolean;
}

const HOURS = [{ value: "", label: words.anyHour }, ...Array.from({ length: 24 }, (_, hour) => ({ value: String(hour), label: hourName(hour) }))];
const NO_TYPES = {} as NodeTypes;

/** The channel, the day and the hour of a step. */
export function WhenForm({ when, onChange, offsetFrom, channels, errors, problem, canEdit }: WhenFormProps) {
  const change = (some: Partial<When>) => onChange({ ...when, ...some });
  const wrong = (name: string) => errors.find((one) => one.place === `steps[0].${name}`)?.message ?? problemAt(problem, name);
  const options = channels.map(({ channel }) => ({ value: channel, label: channelName(channel) }));
  const isAfter = offsetFrom === "previous";
  return (
    <div className={styles.grid}>
      <Field label={text.message.channel} problem={wrong("channel")}>
        <Select value={when.channel} options={options} disabled={!canEdit} onChange={(channel) => change({ channel })} />
      </Field>
      <Field label={isAfter ? words.daysAfter : words.day} hint={isAfter ? undefined : words.dayHint} problem={wrong("dayOffset")} required>
        <TextInput type="number" min={0} max={3650} required value={when.days} readOnly={!canEdit} onChange={(days) => change({ days })} />
      </Field>
      <Field label={words.hour} problem={wrong("sendHour")}>
        <Select value={when.hour} options={HOURS} disabled={!canEdit} onChange={(hour) => change({ hour })} />
      </Field>
      <Field label={words.order} problem={wrong("stepOrder")}>
        <TextInput type="number" min={0} required value={when.order} readOnly={!canEdit} onChange={(order) => change({ order })} />
      </Field>
      <div className={styles.wide}>
        <PartFormProvider value={{ types: NO_TYPES, problems: [], variables: [], canEdit }}>
          <Field label={words.lateness} hint={words.latenessHint} problem={wrong("maxLateness")}>
            <DurationControl value={when.lateness} onChange={(lateness) => change({ lateness: typeof lateness === "string" ? lateness : "" })} place="maxLateness" label={words.lateness} />
          </Field>
        </PartFormProvider>
      </div>
    </div>
  );
}
