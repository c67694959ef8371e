import { useMemo, useState } from "react";
import { problemAt } from "../../api/problem";
import { useRead } from "../../api/queries";
import { channelWord } from "../../parts/channel-word";
import { text } from "../../text";
import { CodeEditor } from "../../ui/code-editor";
import { Field } from "../../ui/field";
import { Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Select } from "../../ui/select";
import { Split } from "../../ui/split";
import { TextInput } from "../../ui/text-input";
import { PartFormProvider } from "../workflows/forms/part-form";
import { SchemaForm } from "../workflows/forms/schema-form";
import type { NodeTypes } from "../workflows/model/schema";
import { ContactChoice } from "../workflows/preview/contact-choice";
import { MessagePreview } from "../workflows/preview/message-preview";
import styles from "./campaign.module.css";
import { type CampaignChannel, CHANNELS, type Draft, reachesPeople } from "./draft";
import type { StepProps } from "./step";
import { usePreview } from "./use-preview";

const words = text.campaigns;
const OPTIONS = CHANNELS.map((value) => ({ value, label: channelWord(value) }));

interface WriteStepProps extends StepProps {
  types: NodeTypes;
  isNew: boolean;
  problem: unknown;
}

/** What the campaign says, beside how a reader sees it. */
export function WriteStep(props: WriteStepProps) {
  const { draft, change, mayDefine, isNew, isRight, problem } = props;
  return (
    <Split
      sideWidth={560}
      main={
        <div className={styles.form}>
          <div className={styles.pair}>
            <Field label={words.name} hint={isNew ? words.nameHint : undefined} problem={problemAt(problem, "name")}>
              <TextInput value={draft.name} onChange={(name) => change({ name })} disabled={!mayDefine} autoFocus={isNew} />
            </Field>
            <Field label={words.channel}>
              <Select<CampaignChannel> value={draft.channel} options={OPTIONS} disabled={!mayDefine} onChange={(channel) => change({ channel, content: {} })} />
            </Field>
          </div>
          {reachesPeople(draft.channel) ? <Message key={draft.channel} {...props} /> : <Posts key={draft.channel} {...props} />}
        </div>
      }
      side={<PreviewPane draft={draft} isRight={isRight} />}
    />
  );
}

function Message({ draft, change, mayDefine, checks, types }: WriteStepProps) {
  const schema = types.channels.find((one) => one.channel === draft.channel)?.schema;
  const form = useMemo(
    () => ({
      problems: contentProblems(checks?.errors ?? []),
      variables: checks?.variables ?? [],
      types,
      canEdit: mayDefine,
    }),
    [checks, types, mayDefine],
  );
  if (!schema) return null;
  return (
    <PartFormProvider value={form}>
      <SchemaForm schema={schema} value={draft.content} onChange={(content) => change({ content })} />
    </PartFormProvider>
  );
}

/** Places of the API are those of the campaign: `content.subject`. */
function contentProblems(errors: readonly { place: string; message: string }[]) {
  const within = errors.filter((one) => one.place === "content" || one.place.startsWith("content."));
  return within.map(({ place, message }) => ({ field: place.slice("content.".length), message }));
}

/** Posts to accounts, as the API takes them. */
function Posts({ draft, change, mayDefine, checks }: WriteStepProps) {
  const [written, setWritten] = useState(() => JSON.stringify(draft.content, null, 2));
  const problems = contentProblems(checks?.errors ?? []).map((one) => [one.field, one.message].filter(Boolean).join(": "));
  const onChange = (json: string) => {
    setWritten(json);
    try {
      change({ content: JSON.parse(json) as Draft["content"] });
    } catch {
      // what is half written is no JSON yet
    }
  };
  return (
    <Field label={words.posts} hint={words.postsHint} problem={problems.join("; ") || undefined}>
      <CodeEditor language="json" value={written} onChange={onChange} readOnly={!mayDefine} />
    </Field>
  );
}

/** The message for somebody who is there: the newest contact until another is chosen. */
function PreviewPane({ draft, isRight }: { draft: Draft; isRight: boolean }) {
  const [chosen, setChosen] = useState<{ id: string; label: string } | null>(null);
  const first = useRead("GET /v1/contacts", { query: { limit: 1 } }).data?.data[0];
  const contact = chosen ?? (first ? { id: first.id, label: first.name ?? first.externalId } : null);
  const { data, error } = usePreview(draft, contact?.id ?? null, isRight);
  return (
    <Section title={words.preview}>
      <div className={styles.preview} aria-live="polite">
        {reachesPeople(draft.channel) && (
          <Field label={words.previewFor}>
            <ContactChoice sample={{ contact, change: (some) => setChosen(some.contact ?? null) }} />
          </Field>
        )}
        {data?.data.map((preview, place) => <MessagePreview key={place} preview={preview} />)}
        {!data && !error && <p className={styles.quiet}>{words.nothingToShow}</p>}
        {error && !data && <Problem error={error} />}
      </div>
    </Section>
  );
}
