import type { KindSetting, ProviderKindView } from "@tidings/client";
import { useState } from "react";
import { problemAt, problemElsewhere } from "../../api/problem";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { Checkbox } from "../../ui/checkbox";
import { Field } from "../../ui/field";
import { Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Select } from "../../ui/select";
import { TextInput } from "../../ui/text-input";
import { dayOf } from "../../ui/times";
import { useSubmit } from "../../ui/use-submit";
import styles from "./connections.module.css";
import type { Draft } from "./draft";
import { LimitFields } from "./limit-fields";
import { CredentialField, SettingField } from "./setting-field";

interface ConnectionFormProps {
  kind: ProviderKindView;
  begun: Draft;
  /** The credentials that are stored; nothing for a connection that is new. */
  stored?: readonly string[];
  verb: string;
  onSave: (draft: Draft) => Promise<void>;
}

type Change = (change: Partial<Draft>) => void;

/** The form of a connection, made from what its kind must be told. */
export function ConnectionForm({ kind, begun, stored, verb, onSave }: ConnectionFormProps) {
  const [draft, setDraft] = useState(begun);
  const change: Change = (more) => setDraft((now) => ({ ...now, ...more }));
  const { busy, problem, onSubmit } = useSubmit(() => onSave(draft));
  const elsewhere = problemElsewhere(problem, placesOf(kind));
  const parts = { kind, draft, change, problem };
  return (
    <form className={styles.form} onSubmit={onSubmit} noValidate>
      <Section title={text.connections.form.account} about={text.connections.form.accountAbout}>
        <Account {...parts} stored={stored} />
      </Section>
      <Section title={text.connections.form.order} about={text.connections.form.orderAbout}>
        <Order {...parts} />
      </Section>
      <Section title={text.connections.form.limits} about={text.connections.form.limitsAbout}>
        <LimitFields limits={draft.limits} problem={problem} onChange={(limits) => change({ limits })} />
      </Section>
      {elsewhere !== null && <Problem error={elsewhere} />}
      <div className={styles.submit}>
        <Button type="submit" kind="primary" busy={busy}>
          {verb}
        </Button>
      </div>
    </form>
  );
}

/** Where a problem is shown at its own field. */
function placesOf(kind: ProviderKindView): string[] {
  const own = kind.settings.map((one) => `${one.secret ? "credentials" : "settings"}.${one.name}`);
  return ["name", "channel", "position", "weight", "limits", ...own];
}

interface PartProps {
  kind: ProviderKindView;
  draft: Draft;
  change: Change;
  problem: unknown;
}

function Account({ stored, ...parts }: PartProps & { stored: readonly string[] | undefined }) {
  const { kind, draft, change, problem } = parts;
  const isAsked = (one: KindSetting) => one.required || Boolean(draft.settings[one.name]) || (stored?.includes(one.name) ?? false);
  const [first] = useState(() => kind.settings.filter(isAsked)); // a field stays where it is while it is filled in
  const rest = kind.settings.filter((one) => !first.includes(one));
  const fields = (some: readonly KindSetting[]) => some.map((one) => <OneSetting key={one.name} setting={one} stored={stored} {...parts} />);
  return (
    <div className={styles.fields}>
      <Field label={text.connections.form.name} hint={text.connections.form.nameHint} problem={problemAt(problem, "name")} required>
        <TextInput mono value={draft.name} onChange={(name) => change({ name })} autoComplete="off" spellCheck={false} />
      </Field>
      {kind.channels.length > 1 && !stored && (
        <Field label={text.connections.form.channel} problem={problemAt(problem, "channel")}>
          <Select
            value={draft.channel}
            options={kind.channels.map((value) => ({ value, label: text.channels[value] ?? value }))}
            onChange={(channel) => change({ channel })}
          />
        </Field>
      )}
      {fields(first)}
      {rest.length > 0 && (
        <details className={styles.more} open={rest.some((one) => hasProblem(one, problem)) || undefined}>
          <summary>{text.connections.form.more}</summary>
          <div className={styles.fields}>{fields(rest)}</div>
        </details>
      )}
      <p className={styles.follows}>
        {kind.documents.map((one) => (
          <span key={one.title}>
            {text.connections.form.follows} {one.title}, {text.connections.form.readOn(dayOf(new Date(one.readOn)))}.
          </span>
        ))}
      </p>
    </div>
  );
}

function hasProblem(one: KindSetting, problem: unknown): boolean {
  return problemAt(problem, `${one.secret ? "credentials" : "settings"}.${one.name}`) !== undefined;
}

function OneSetting({ setting, stored, draft, change, problem }: PartProps & { setting: KindSetting; stored: readonly string[] | undefined }) {
  const { name } = setting;
  if (!setting.secret) {
    return (
      <SettingField
        setting={setting}
        value={draft.settings[name] ?? ""}
        problem={problemAt(problem, `settings.${name}`)}
        onChange={(value) => change({ settings: { ...draft.settings, [name]: value } })}
      />
    );
  }
  return (
    <CredentialField
      setting={setting}
      isStored={stored?.includes(name) ?? false}
      isForgotten={draft.forgotten.includes(name)}
      value={draft.credentials[name] ?? ""}
      problem={problemAt(problem, `credentials.${name}`)}
      onChange={(value) => change({ credentials: { ...draft.credentials, [name]: value } })}
      onForget={(forget) => change({ forgotten: forget ? [...draft.forgotten, name] : draft.forgotten.filter((one) => one !== name) })}
    />
  );
}

function Order({ draft, change, problem }: PartProps) {
  return (
    <div className={styles.fields}>
      <div className={styles.pair}>
        <Field label={text.connections.form.position} hint={text.connections.form.positionHint} problem={problemAt(problem, "position")}>
          <TextInput type="number" min={1} value={draft.position} onChange={(position) => change({ position })} />
        </Field>
        <Field label={text.connections.form.weight} hint={text.connections.form.weightHint} problem={problemAt(problem, "weight")}>
          <TextInput type="number" min={1} placeholder="1" value={draft.weight} onChange={(weight) => change({ weight })} />
        </Field>
      </div>
      <Checkbox checked={draft.sticky} onChange={(sticky) => change({ sticky })}>
        {text.connections.form.sticky}
      </Checkbox>
    </div>
  );
}
