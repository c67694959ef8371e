import type { Campaign } from "@tidings/client";
import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { api } from "../../api/client";
import { invalidate } from "../../api/queries";
import { useMay } from "../../api/session";
import { audienceOf } from "../../parts/audience/filter";
import { channelWord } from "../../parts/channel-word";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { ConfirmDialog } from "../../ui/confirm-dialog";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Tag } from "../../ui/status";
import { Tabs } from "../../ui/tabs";
import { toast } from "../../ui/toast";
import { useQueryValue } from "../../ui/use-query";
import { useSubmit } from "../../ui/use-submit";
import type { NodeTypes } from "../workflows/model/schema";
import { AudienceStep } from "./audience-step";
import { type Draft, draftFrom, givenOf, isSame, NEW_DRAFT, reachesPeople } from "./draft";
import { ResultsStep } from "./results-step";
import { SendStep } from "./send-step";
import { useChecks } from "./use-checks";
import { WriteStep } from "./write-step";

const words = text.campaigns;
const BACK = { href: "/campaigns", label: words.title };
const FORM = "campaign";

/** The steps of a campaign, and the one draft that they change. */
export function Editor({ campaign, types }: { campaign: Campaign | null; types: NodeTypes }) {
  const [draft, setDraft] = useState<Draft>(() => (campaign ? draftFrom(campaign) : NEW_DRAFT));
  const [step, setStep] = useQueryValue("step", "write");
  const [, navigate] = useLocation();
  const mayDefine = useMay("define");
  const { checks, isRight } = useChecks(draft);
  const change = (some: Partial<Draft>) => setDraft((now) => ({ ...now, ...some }));
  const isChanged = !campaign || !isSame(draft, draftFrom(campaign));
  useWarning(isChanged && mayDefine);

  const save = async () => {
    const saved = campaign ? await api.campaigns.update(campaign.id, givenOf(draft)) : await api.campaigns.create(givenOf(draft));
    await invalidate("/v1/campaigns");
    toast(words.saved);
    return saved;
  };
  const isComplete = !reachesPeople(draft.channel) || audienceOf(draft.audience) !== null; // the API keeps no campaign for nobody
  const { busy, problem, onSubmit } = useSubmit(async () => {
    const next = reachesPeople(draft.channel) && step === "write" ? "audience" : "send";
    const saved = isChanged && mayDefine && isComplete ? await save() : campaign;
    if (saved && !campaign) navigate(`/campaigns/${saved.id}?step=${next}`, { replace: true });
    else setStep(next);
  });
  const props = { draft, change, mayDefine, checks, isRight };
  const tabs = [
    { value: "write", label: words.steps.write, content: <WriteStep {...props} types={types} isNew={!campaign} problem={problem} /> },
    ...(reachesPeople(draft.channel) ? [{ value: "audience", label: words.steps.audience, content: <AudienceStep {...props} problem={problem} /> }] : []),
    ...(campaign
      ? [
          { value: "send", label: words.steps.send, content: <SendStep {...props} campaign={campaign} isChanged={isChanged} problem={problem} /> },
          { value: "results", label: words.steps.results, content: <ResultsStep campaign={campaign} /> },
        ]
      : []),
  ];
  return (
    <Page
      title={draft.name || words.untitled}
      back={BACK}
      status={<State campaign={campaign} draft={draft} isChanged={isChanged && mayDefine} />}
      actions={
        <>
          {campaign && mayDefine && <Delete campaign={campaign} />}
          <Onward {...{ step, busy, isComplete }} willSave={isChanged && mayDefine} isNamed={draft.name.trim() !== ""} />
        </>
      }
    >
      <form id={FORM} onSubmit={onSubmit} />
      {problem !== null && <Problem error={problem} />}
      <Tabs label={words.title} value={tabs.some((tab) => tab.value === step) ? step : "write"} onChange={setStep} tabs={tabs} />
    </Page>
  );
}

interface OnwardProps {
  step: string;
  busy: boolean;
  /** Whether there is something to save, by somebody who may. */
  willSave: boolean;
  isComplete: boolean;
  isNamed: boolean;
}

/** Saves what was changed, and goes to the next step. */
function Onward({ step, busy, willSave, isComplete, isNamed }: OnwardProps) {
  if (step === "results" || (step === "send" && !willSave)) return null;
  const verb = !willSave || !isComplete ? words.next : step === "send" ? text.common.save : words.continue;
  return (
    <Button kind="primary" type="submit" form={FORM} busy={busy} disabled={!isNamed || (step !== "write" && !isComplete)}>
      {verb}
    </Button>
  );
}

function State({ campaign, draft, isChanged }: { campaign: Campaign | null; draft: Draft; isChanged: boolean }) {
  return (
    <>
      <Tag>{channelWord(draft.channel)}</Tag>
      {isChanged && campaign && <Tag tone="warn">{words.unsaved}</Tag>}
    </>
  );
}

/** The browser asks before what was written is left behind. */
function useWarning(isChanged: boolean): void {
  useEffect(() => {
    if (!isChanged) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", warn);
    return () => window.removeEventListener("beforeunload", warn);
  }, [isChanged]);
}

function Delete({ campaign }: { campaign: Campaign }) {
  const [asking, setAsking] = useState(false);
  const [, navigate] = useLocation();
  const remove = async () => {
    await api.campaigns.delete(campaign.id);
    toast(words.deleted);
    navigate("/campaigns");
    await invalidate("/v1/campaigns");
  };
  return (
    <>
      <Button onClick={() => setAsking(true)}>{words.delete}</Button>
      <ConfirmDialog open={asking} onClose={() => setAsking(false)} title={words.deleteTitle} about={words.deleteAbout} verb={words.delete} danger onConfirm={remove} />
    </>
  );
}
