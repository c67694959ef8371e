import type { Campaign } from "@tidings/client";
import { useState } from "react";
import { problemAt } from "../../api/problem";
import { useMay } from "../../api/session";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { Field } from "../../ui/field";
import { Section } from "../../ui/page";
import { Select } from "../../ui/select";
import { Split } from "../../ui/split";
import { TextInput } from "../../ui/text-input";
import styles from "./campaign.module.css";
import { Checklist, useReadiness } from "./checklist";
import { DeployDialog } from "./deploy-dialog";
import type { StepProps } from "./step";
import { TestSend } from "./test-send";

const words = text.campaigns;
const HOURS = [{ value: "", label: words.anyHour }, ...Array.from({ length: 24 }, (_, hour) => ({ value: String(hour), label: words.atHour(hour) }))];

interface SendStepProps extends StepProps {
  campaign: Campaign;
  isChanged: boolean;
  problem: unknown;
}

/** When and how fast, a test, what is missing, and the button that sends. */
export function SendStep(props: SendStepProps) {
  const { campaign, draft, isChanged } = props;
  const mayOperate = useMay("operate");
  const [asking, setAsking] = useState(false);
  const readiness = useReadiness(campaign, draft, props, isChanged);
  return (
    <Split
      sideWidth={420}
      main={
        <div className={styles.form}>
          <Pace {...props} />
          {mayOperate && (
            <Section title={words.test} about={words.testAbout}>
              <TestSend campaign={campaign} isChanged={isChanged} />
            </Section>
          )}
        </div>
      }
      side={
        <Section title={words.check}>
          <Checklist readiness={readiness} />
          {mayOperate ? (
            <Button kind="primary" disabled={!readiness.isReady} onClick={() => setAsking(true)}>
              {words.deploy}
            </Button>
          ) : (
            <p className={styles.quiet}>{words.mayNotSend}</p>
          )}
          {asking && <DeployDialog campaign={campaign} readiness={readiness} onClose={() => setAsking(false)} />}
        </Section>
      }
    />
  );
}

/** The settings of the campaign that say when each message leaves. */
function Pace({ draft, change, mayDefine, problem }: SendStepProps) {
  return (
    <Section title={words.pace}>
      <div className={styles.fields}>
        <Field label={words.hour} hint={words.hourHint} problem={problemAt(problem, "sendHour")}>
          <Select value={draft.sendHour} options={HOURS} disabled={!mayDefine} onChange={(sendHour) => change({ sendHour })} />
        </Field>
        {draft.sendHour !== "" && (
          <Field label={words.timeZone} hint={words.zoneHint} problem={problemAt(problem, "timeZone")}>
            <TextInput value={draft.timeZone} disabled={!mayDefine} onChange={(timeZone) => change({ timeZone })} />
          </Field>
        )}
        <Field label={words.rate} hint={words.rateHint} problem={problemAt(problem, "rate")}>
          <TextInput type="number" min={1} value={draft.rate} disabled={!mayDefine} onChange={(rate) => change({ rate })} />
        </Field>
        <Field label={words.lateness} hint={words.latenessHint} problem={problemAt(problem, "maxLateness")}>
          <TextInput type="number" min={0} step="any" value={draft.latenessHours} disabled={!mayDefine} onChange={(latenessHours) => change({ latenessHours })} />
        </Field>
      </div>
    </Section>
  );
}
