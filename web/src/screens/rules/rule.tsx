import type { Rule } from "@tidings/client";
import { Plus } from "lucide-react";
import { useMemo, useState } from "react";
import { useLocation } from "wouter";
import { api } from "../../api/client";
import { problemAt, problemElsewhere } from "../../api/problem";
import { invalidate, isNotFound, useRead } from "../../api/queries";
import { useMay } from "../../api/session";
import { useCheckedRule } from "../../parts/content/use-checked";
import { carriedIn } from "./model/carried";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { ConfirmDialog } from "../../ui/confirm-dialog";
import { EmptyState } from "../../ui/empty-state";
import { Page, Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Split } from "../../ui/split";
import { Status } from "../../ui/status";
import { Switch } from "../../ui/switch";
import { toast } from "../../ui/toast";
import { useQueryValues } from "../../ui/use-query";
import { useSubmit } from "../../ui/use-submit";
import type { ScreenProps } from "../registry";
import { useNodeTypes } from "../sequences/api";
import type { NodeTypes } from "../workflows/model/schema";
import { KeyForm } from "./key-form";
import { draftOf, givenOf, NEW_STEP, type RuleDraft } from "./model/draft";
import { RulePreview } from "./rule-preview";
import styles from "./rules.module.css";
import { StepForm } from "./step-form";

const words = text.rules;
const BACK = { href: "/rules", label: words.title };
const FORM = "rule";
const NONE: readonly never[] = [];

/** One rule: for what it is, what it sends, and how that would look. */
export default function RuleScreen({ params }: ScreenProps) {
  const id = params["id"] ?? "";
  const isNew = id === "new";
  const { data: rule, error } = useRead("GET /v1/rules/{id}", { path: { id } }, { enabled: !isNew });
  const { types, error: typesError } = useNodeTypes();
  const problem = error ?? typesError;
  if (types && (rule || isNew)) return <RuleForm key={id} rule={rule ?? null} types={types} />;
  return (
    <Page title={words.title} back={BACK}>
      {isNotFound(problem) ? <EmptyState title={words.missing} about={words.missingAbout} /> : problem ? <Problem error={problem} /> : <Skeleton lines={8} />}
    </Page>
  );
}

function RuleForm({ rule, types }: { rule: Rule | null; types: NodeTypes }) {
  const canEdit = useMay("define");
  const begun = useQueryValues(["trigger", "channel", "audience"]);
  const [, navigate] = useLocation();
  const [draft, setDraft] = useState<RuleDraft>(() => (rule ? draftOf(rule) : { trigger: "", channel: "email", audience: "lead", enabled: true, steps: [NEW_STEP], ...begun }));
  const [current, setCurrent] = useState(0);
  const [isDeleting, setDeleting] = useState(false);
  // The switch acts at once: what is saved later must not turn it back.
  const given = useMemo(() => givenOf({ ...draft, enabled: rule?.enabled ?? draft.enabled }), [draft, rule]);
  const checked = useCheckedRule(given, canEdit && draft.trigger !== "");
  const channels = types.channels.filter((one) => one.reachesContacts);
  const form = channels.find((one) => one.channel === draft.channel) ?? channels[0];
  const { busy, problem, onSubmit } = useSubmit(async () => {
    const saved = rule ? await api.rules.update(rule.id, given) : await api.rules.create(given);
    await invalidate("/v1/rules");
    setDraft(draftOf(saved));
    toast(words.saved);
    if (!rule) navigate(`/rules/${saved.id}`, { replace: true });
  });
  if (!form) return null;
  const change = (some: Partial<RuleDraft>) => {
    const to = channels.find((one) => one.channel === some.channel);
    setDraft({ ...draft, ...some, ...(to && to !== form ? { steps: carriedIn(draft.steps, form, to) } : {}) });
  };
  const errors = checked?.errors ?? NONE;
  const elsewhere = problemElsewhere(problem, ["trigger", "channel", "audience", "steps"]);
  const main = (
    <form id={FORM} onSubmit={onSubmit} className={styles.stack}>
      {elsewhere !== null && <Problem error={elsewhere} />}
      {problemAt(problem, "steps") && <Problem error={problem} />}
      <KeyForm draft={draft} onChange={change} channels={channels} problem={problem} canEdit={canEdit} />
      <Section title={words.steps} actions={canEdit && <AddStep draft={draft} onChange={change} onCurrent={setCurrent} />}>
        {draft.steps.length === 0 && <p>{words.noSteps}</p>}
        <div className={styles.stack}>
          {draft.steps.map((step, place) => (
            <StepForm
              key={typeof step["id"] === "string" ? step["id"] : place}
              {...{ step, place, types, form, errors, canEdit, draft, change }}
              variables={checked?.variables ?? NONE}
              isCurrent={place === current}
              onCurrent={() => setCurrent(place)}
            />
          ))}
        </div>
      </Section>
    </form>
  );
  const remove = async (id: string) => {
    await api.rules.delete(id);
    navigate("/rules");
    await invalidate("/v1/rules");
  };
  const title = rule ? rule.trigger : words.new;
  const preview = <RulePreview draft={draft} place={Math.min(current, draft.steps.length - 1)} variables={checked?.variables ?? NONE} />;
  return (
    <Page title={title} back={BACK} status={rule && <State rule={rule} canEdit={canEdit} />} actions={canEdit && <Actions rule={rule} busy={busy} isComplete={draft.trigger !== ""} onDelete={() => setDeleting(true)} />}>
      <Split main={main} side={preview} sideWidth={480} />
      {rule && isDeleting && <ConfirmDialog open danger onClose={() => setDeleting(false)} title={`${words.delete}: ${title}`} about={words.deleteAbout} verb={words.delete} onConfirm={() => remove(rule.id)} />}
    </Page>
  );
}

function AddStep({ draft, onChange, onCurrent }: { draft: RuleDraft; onChange: (some: Partial<RuleDraft>) => void; onCurrent: (place: number) => void }) {
  const add = () => {
    onChange({ steps: [...draft.steps, NEW_STEP] });
    onCurrent(draft.steps.length);
  };
  return (
    <Button small icon={<Plus size={14} aria-hidden />} onClick={add}>
      {words.addStep}
    </Button>
  );
}

/** On or off at once, without what is being written. */
function State({ rule, canEdit }: { rule: Rule; canEdit: boolean }) {
  const turn = async (enabled: boolean) => {
    await (enabled ? api.rules.enable(rule.id) : api.rules.disable(rule.id));
    await invalidate("/v1/rules");
  };
  return (
    <>
      {rule.notReady.length > 0 && (
        <Status state="warn" tone="warn">
          {text.message.noProvider(rule.notReady.join(", "))}
        </Status>
      )}
      {canEdit ? (
        <Switch checked={rule.enabled} onChange={(enabled) => void turn(enabled)}>
          {rule.enabled ? words.enabled : words.disabled}
        </Switch>
      ) : (
        <Status state={rule.enabled ? "active" : "inactive"}>{rule.enabled ? words.enabled : words.disabled}</Status>
      )}
    </>
  );
}

function Actions({ rule, busy, isComplete, onDelete }: { rule: Rule | null; busy: boolean; isComplete: boolean; onDelete: () => void }) {
  return (
    <>
      {rule && (
        <Button onClick={onDelete}>
          {words.delete}
        </Button>
      )}
      <Button kind="primary" type="submit" form={FORM} busy={busy} disabled={!isComplete}>
        {words.save}
      </Button>
    </>
  );
}
