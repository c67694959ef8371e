import type { GivenStep, Sequence, Step } from "@tidings/client";
import { useState } from "react";
import { useLocation } from "wouter";
import { problemElsewhere } from "../../../api/problem";
import { useMay } from "../../../api/session";
import { ContentForm } from "../../../parts/content/content-form";
import { carriedOver, fieldsOf, problemsBelow, writtenOf } from "../../../parts/content/content";
import { ContactPreview } from "../../../parts/content/live-preview";
import { useCheckedSequence } from "../../../parts/content/use-checked";
import type { JsonObject } from "../../../parts/graph/definition";
import { text } from "../../../text";
import { Button } from "../../../ui/button";
import { ConfirmDialog } from "../../../ui/confirm-dialog";
import { EmptyState } from "../../../ui/empty-state";
import { Page, Section } from "../../../ui/page";
import { Problem } from "../../../ui/problem";
import { Skeleton } from "../../../ui/skeleton";
import { Split } from "../../../ui/split";
import { toast } from "../../../ui/toast";
import { useQueryValues } from "../../../ui/use-query";
import { useSubmit } from "../../../ui/use-submit";
import type { ScreenProps } from "../../registry";
import type { ChannelForm, NodeTypes } from "../../workflows/model/schema";
import { deleteStep, saveStep, useNodeTypes, useSequence } from "../api";
import { inOrder, placed } from "../model/calendar";
import styles from "../sequences.module.css";
import { type When, WhenForm } from "./when-form";

const words = text.sequences.step;
const FORM = "step";
const SHOWN = ["dayOffset", "sendHour", "stepOrder", "maxLateness", "channel", "content", "subject"];
const NONE: readonly never[] = [];

/** One step: when it is sent and what it says, with the message beside it. */
export default function StepScreen({ params }: ScreenProps) {
  const { id = "", step: stepId = "" } = params;
  const { sequence, error } = useSequence(id);
  const { types, error: typesError } = useNodeTypes();
  const back = { href: `/sequences/${id}`, label: sequence?.name ?? text.sequences.title };
  const step = sequence?.steps.find((one) => one.id === stepId);
  if (sequence && types && (step || stepId === "new")) return <StepForm key={stepId} sequence={sequence} step={step ?? null} types={types} back={back} />;
  return (
    <Page title={words.new} back={back}>
      {(error ?? typesError) ? <Problem error={error ?? typesError} /> : sequence && types ? <EmptyState title={words.gone} about={words.deleteAbout} /> : <Skeleton lines={8} />}
    </Page>
  );
}

interface StepFormProps {
  sequence: Sequence;
  step: Step | null;
  types: NodeTypes;
  back: { href: string; label: string };
}

function StepForm({ sequence, step, types, back }: StepFormProps) {
  const canEdit = useMay("define");
  const [, navigate] = useLocation();
  const begun = useBeginning(sequence, step);
  const [when, setWhen] = useState<When>(begun);
  const channels = types.channels.filter((one) => one.reachesContacts);
  const form = channels.find((one) => one.channel === when.channel) ?? channels[0];
  const [fields, setFields] = useState<JsonObject>(step && form ? fieldsOf(step, form) : {});
  const [isDeleting, setDeleting] = useState(false);
  const given = form && givenOf(when, fields, form);
  const checked = useCheckedSequence({ offsetFrom: sequence.offsetFrom, timezone: sequence.timezone, steps: given ? [{ ...given }] : [] }, canEdit && Object.keys(fields).length > 0);
  const { busy, problem, onSubmit } = useSubmit(async () => {
    if (!given) return;
    await saveStep(sequence.id, step?.id ?? null, step ? given : withoutNull(given));
    toast(words.saved);
    navigate(back.href);
  });
  if (!form) return null;
  const changeWhen = (next: When) => {
    const to = channels.find((one) => one.channel === next.channel);
    if (to && to !== form) setFields(carriedOver(fields, form, to));
    setWhen(next);
  };
  const errors = checked?.errors ?? NONE;
  const elsewhere = problemElsewhere(problem, SHOWN);
  const main = (
    <form id={FORM} onSubmit={onSubmit} className={styles.stack}>
      {elsewhere !== null && <Problem error={elsewhere} />}
      <Section title={words.when}>
        <WhenForm when={when} onChange={changeWhen} offsetFrom={sequence.offsetFrom} channels={channels} errors={errors} problem={problem} canEdit={canEdit} />
      </Section>
      <Section title={words.what}>
        <ContentForm
          key={form.channel}
          types={types}
          schema={form.schema}
          value={fields}
          onChange={setFields}
          problems={problemsBelow(errors, "steps[0]", "content", form)}
          variables={checked?.variables ?? NONE}
          canEdit={canEdit}
        />
      </Section>
    </form>
  );
  const actions = canEdit && (
    <>
      {step && (
        <Button onClick={() => setDeleting(true)}>
          {words.delete}
        </Button>
      )}
      <Button kind="primary" type="submit" form={FORM} busy={busy} disabled={Object.keys(fields).length === 0}>
        {step ? words.save : words.add}
      </Button>
    </>
  );
  const remove = async (id: string) => {
    navigate(back.href);
    await deleteStep(sequence.id, id);
  };
  return (
    <Page title={step ? words.title(step.stepOrder) : words.new} back={back} actions={actions}>
      <Split main={main} side={<ContactPreview unsaved={{ channel: form.channel as NonNullable<GivenStep["channel"]>, content: withName(fields, form, sequence.name) }} />} sideWidth={520} />
      {step && isDeleting && (
        <ConfirmDialog open danger onClose={() => setDeleting(false)} title={`${words.delete} ${step.stepOrder}`} about={words.deleteAbout} verb={words.delete} onConfirm={() => remove(step.id)} />
      )}
    </Page>
  );
}

/** What the form begins with: the step, or the place on the calendar that was chosen, or the day after the last step. */
function useBeginning(sequence: Sequence, step: Step | null): When {
  const { day, hour } = useQueryValues(["day", "hour"]);
  if (step) return { ...step, order: String(step.stepOrder), hour: step.sendHour === null ? "" : String(step.sendHour), days: String(step.dayOffset), lateness: step.maxLateness ?? "" };
  const last = placed(sequence.steps, sequence.offsetFrom).at(-1);
  const previous = sequence.offsetFrom === "previous" ? (last?.day ?? 0) : 0;
  const after = last ? last.day + 1 : 0;
  return {
    days: String(Math.max(0, (day ? Number(day) : after) - previous)),
    hour: hour ?? (day ? "" : String(last?.step.sendHour ?? "")),
    order: String((inOrder(sequence.steps).at(-1)?.stepOrder ?? 0) + 1),
    channel: last?.step.channel ?? "email",
    lateness: "",
  };
}

function givenOf(when: When, fields: JsonObject, form: ChannelForm): GivenStep {
  return {
    dayOffset: Number(when.days),
    stepOrder: Number(when.order),
    sendHour: when.hour === "" ? null : Number(when.hour),
    channel: when.channel as GivenStep["channel"],
    maxLateness: when.lateness || null,
    ...(writtenOf(fields, form) as Pick<GivenStep, "subject" | "content">),
  };
}

/** A new step is given what it has; null is for what a change takes away. */
function withoutNull(step: GivenStep): GivenStep {
  return Object.fromEntries(Object.entries(step).filter(([, value]) => value !== null)) as unknown as GivenStep;
}

/** As it is sent: the sequence's name is the subject of an e-mail that has none. */
function withName(fields: JsonObject, form: ChannelForm, name: string): JsonObject {
  const isEmpty = Object.keys(fields).length === 0;
  return !isEmpty && form.channel === "email" && form.subject && !fields[form.subject] ? { [form.subject]: name, ...fields } : fields;
}
