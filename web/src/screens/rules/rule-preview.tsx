import type { GivenUnsavedPreview, Variable } from "@tidings/client";
import { useState } from "react";
import { isObject, type JsonObject } from "../../parts/graph/definition";
import { ShownPreviews } from "../../parts/content/live-preview";
import { text } from "../../text";
import { CodeEditor } from "../../ui/code-editor";
import { Field } from "../../ui/field";
import { objectIn } from "../workflows/editor/sample";
import { exampleEvent, type RuleDraft } from "./model/draft";
import styles from "./rules.module.css";

const words = text.rules;
const ADDRESS: Readonly<Record<string, string>> = { email: "email", sms: "phone", whatsapp: "phone", voice: "phone" };

/** What the message that is being written would say about an event with this data. */
export function RulePreview({ draft, place, variables }: { draft: RuleDraft; place: number; variables: readonly Variable[] }) {
  const names = variables.filter((one) => one.origin === "event" || one.origin === "data").map((one) => one.name);
  const [written, setWritten] = useState<string | null>(null);
  const shown = written ?? JSON.stringify(exampleEvent(names), null, 2);
  const data = objectIn(shown);
  const template = draft.steps[place]?.["template"];
  return (
    <section aria-label={text.message.preview} className={styles.preview}>
      <h2>{text.message.preview}</h2>
      <ShownPreviews unsaved={unsavedOf(draft, isObject(template) ? template : {}, data ?? {})} />
      <Field label={words.eventData} hint={words.eventDataHint} problem={data ? undefined : words.notJson}>
        <CodeEditor value={shown} language="json" lines={false} minHeight={110} maxHeight={320} onChange={setWritten} />
      </Field>
    </section>
  );
}

function unsavedOf({ trigger, channel, audience }: RuleDraft, content: JsonObject, data: JsonObject): GivenUnsavedPreview {
  const name = ADDRESS[channel];
  return {
    channel: channel as NonNullable<GivenUnsavedPreview["channel"]>,
    content,
    data: { trigger, ...data },
    ...(name ? { to: `{{ ${audience}.${name} | default: "" }}` } : {}),
  };
}
