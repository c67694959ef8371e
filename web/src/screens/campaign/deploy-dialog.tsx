import type { Campaign } from "@tidings/client";
import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../../api/client";
import { invalidate } from "../../api/queries";
import { text } from "../../text";
import { ConfirmDialog } from "../../ui/confirm-dialog";
import { Field } from "../../ui/field";
import { KeyValue } from "../../ui/key-value";
import { TextInput } from "../../ui/text-input";
import { exactTime } from "../../ui/times";
import { toast } from "../../ui/toast";
import styles from "./campaign.module.css";
import type { Readiness } from "./checklist";

const words = text.campaigns;

interface DeployDialogProps {
  campaign: Campaign;
  readiness: Readiness;
  onClose: () => void;
}

/** The last look: who, how many, when, over what, and what is missing. */
export function DeployDialog({ campaign, readiness, onClose }: DeployDialogProps) {
  const [isLater, setLater] = useState(false);
  const [at, setAt] = useState("");
  const [, navigate] = useLocation();
  const { counted } = readiness;
  const people = counted?.reachable ?? counted?.matching ?? 0;
  const scheduledFor = isLater && at ? new Date(at).toISOString() : null;
  const send = async () => {
    const run = await api.campaigns.deploy(campaign.id, { scheduledFor });
    await invalidate("/v1/runs", "/v1/campaigns");
    toast(run.duplicate ? words.duplicate : words.deployed, run.note ? { detail: run.note } : {});
    navigate(`/campaigns/${campaign.id}?step=results`);
  };
  const verb = isLater ? words.scheduleVerb(people) : words.deployVerb(people);
  return (
    <ConfirmDialog open onClose={onClose} title={words.deployTitle(people)} about={words.deployAbout} verb={verb} disabled={isLater && !at} onConfirm={send}>
      <fieldset className={styles.when}>
        <legend>{words.when}</legend>
        <label>
          <input type="radio" name="when" checked={!isLater} onChange={() => setLater(false)} /> {words.now}
        </label>
        <label>
          <input type="radio" name="when" checked={isLater} onChange={() => setLater(true)} /> {words.later}
        </label>
      </fieldset>
      {isLater && (
        <Field label={words.at} hint={words.atHint}>
          <TextInput type="datetime-local" value={at} onChange={setAt} />
        </Field>
      )}
      <KeyValue
        pairs={[
          [words.summary.from, campaign.name],
          [words.summary.who, counted?.inWords],
          [words.summary.count, counted && words.checks.audience(people, counted.matching)],
          [words.summary.missing, counted && leftOut(counted.matching - people)],
          [words.summary.when, whenWords(campaign, scheduledFor)],
          [words.summary.pace, campaign.rate ? words.perMinute(campaign.rate) : words.asFast],
          [words.summary.over, readiness.over],
        ]}
      />
    </ConfirmDialog>
  );
}

function leftOut(count: number): string | undefined {
  return count > 0 ? words.leftOut(count) : undefined;
}

function whenWords(campaign: Campaign, scheduledFor: string | null): string {
  const begin = scheduledFor ? exactTime(new Date(scheduledFor)) : words.now;
  return campaign.sendHour === null ? begin : `${begin}, ${words.atHour(campaign.sendHour)} (${campaign.timeZone})`;
}
