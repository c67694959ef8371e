import type { GivenManyResolutions, ResolvedItems } from "@tidings/client";
import { useState } from "react";
import { call } from "../../api/client";
import { problemAt, problemElsewhere } from "../../api/problem";
import { invalidate } from "../../api/queries";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Field } from "../../ui/field";
import { Problem } from "../../ui/problem";
import { Select } from "../../ui/select";
import { TextArea, TextInput } from "../../ui/text-input";
import { toast } from "../../ui/toast";
import { useSubmit } from "../../ui/use-submit";
import { Counted } from "../work/counted";
import { CHANNELS, optionsOf } from "../work/names";
import styles from "../work/work.module.css";
import { useDryRun } from "../work/use-dry-run";

const words = text.inDoubt;
const OUTCOMES = ["sent", "resend", "failed"] as const;

export type Which = Pick<GivenManyResolutions, "ids" | "where">;
type Where = NonNullable<GivenManyResolutions["where"]>;

interface ResolveDialogProps {
  /** The messages, or what those that are meant have in common. */
  which: Which;
  onClose: () => void;
  onDone?: () => void;
}

/** A person's decision about what is in doubt: what became of it, what proves it, and first how many it is about. */
export function ResolveDialog({ which, onClose, onDone }: ResolveDialogProps) {
  const [outcome, setOutcome] = useState<(typeof OUTCOMES)[number]>("sent");
  const [note, setNote] = useState("");
  const [where, setWhere] = useState<Where>(which.where ?? {});
  const meant = which.ids ? { ids: which.ids } : { where };
  const plan = useDryRun(JSON.stringify([meant, outcome]), (signal) =>
    call("POST /v1/outbox/resolve", { body: { ...meant, outcome, note: words.check, dryRun: true }, signal }),
  );
  const { busy, problem, onSubmit } = useSubmit(async () => {
    const done = await call("POST /v1/outbox/resolve", { body: { ...meant, outcome, note } });
    toast(words.resolved(done.resolved), done.refused ? { detail: words.left(done.refused) } : {});
    await invalidate("/v1/outbox", "/v1/executions", "/v1/runs", "/v1/overview");
    onDone?.();
    onClose();
  });
  const count = plan.data?.resolved ?? 0;
  const actions = (
    <>
      <Button onClick={onClose}>{text.common.cancel}</Button>
      <Button kind="primary" type="submit" form="resolve" busy={busy} disabled={!note.trim() || count === 0}>
        {words.resolveMany(count)}
      </Button>
    </>
  );
  return (
    <Dialog open onClose={onClose} title={which.ids ? words.resolveTitle(which.ids.length) : words.resolveAllTitle} about={words.resolveAbout} actions={actions}>
      <form id="resolve" onSubmit={onSubmit} style={{ display: "contents" }}>
        {!which.ids && <WhereFields where={where} onChange={setWhere} />}
        <Outcomes value={outcome} onChange={setOutcome} />
        <Field label={words.note} hint={words.noteHint} problem={problemAt(problem, "note")} required>
          <TextArea value={note} onChange={setNote} rows={2} />
        </Field>
        <Plan plan={plan.data} error={plan.error} />
        {problemElsewhere(problem, ["note"]) !== null && <Problem error={problem} />}
      </form>
    </Dialog>
  );
}

function Outcomes({ value, onChange }: { value: string; onChange: (value: (typeof OUTCOMES)[number]) => void }) {
  return (
    <fieldset className={styles.outcomes}>
      <legend>{words.outcome}</legend>
      {OUTCOMES.map((one) => (
        <label key={one} className={styles.outcome}>
          <input type="radio" name="outcome" value={one} checked={value === one} onChange={() => onChange(one)} />
          <b>{words.outcomes[one]}</b>
          <small>{words.outcomeAbout[one]}</small>
        </label>
      ))}
    </fieldset>
  );
}

function WhereFields({ where, onChange }: { where: Where; onChange: (where: Where) => void }) {
  const change = (name: keyof Where, value: string) => onChange({ ...where, [name]: value || undefined });
  return (
    <div className={styles.two}>
      <Field label={text.work.channel}>
        <Select value={where.channel ?? ""} onChange={(value) => change("channel", value)} options={[{ value: "", label: words.anyChannel }, ...optionsOf(text.work.channels, CHANNELS)]} />
      </Field>
      <Field label={words.olderThan}>
        <Select value={where.olderThan ?? ""} onChange={(value) => change("olderThan", value)} options={optionsOf(words.ages, ["", "PT1H", "P1D", "P7D"])} />
      </Field>
      <Field label={text.work.provider} hint={words.providerHint}>
        <TextInput value={where.provider ?? ""} onChange={(value) => change("provider", value)} spellCheck={false} />
      </Field>
      <Field label={words.run}>
        <TextInput mono value={where.runId ?? ""} onChange={(value) => change("runId", value)} spellCheck={false} />
      </Field>
    </div>
  );
}

/** What a dry run says. */
function Plan({ plan, error }: { plan: ResolvedItems | undefined; error: unknown }) {
  if (error) return <Problem error={error} />;
  if (!plan) return <p className={styles.quiet}>{words.checking}</p>;
  return (
    <div role="status" className={styles.plan}>
      <b>{plan.resolved ? words.would(plan.resolved) : words.wouldNone}</b>
      {Object.keys(plan.byProvider).length > 0 && <Counted counts={plan.byProvider} />}
      {plan.refused > 0 && <p>{words.refused(plan.refused)}</p>}
      {plan.notFound > 0 && <p>{words.notFound(plan.notFound)}</p>}
      {!plan.complete && <p>{words.incomplete}</p>}
    </div>
  );
}
