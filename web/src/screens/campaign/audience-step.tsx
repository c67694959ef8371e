import { problemAt } from "../../api/problem";
import { AudienceCountPanel } from "../../parts/audience/audience-count";
import { AudienceForm } from "../../parts/audience/audience-form";
import { audienceOf } from "../../parts/audience/filter";
import { text } from "../../text";
import { Section } from "../../ui/page";
import { Split } from "../../ui/split";
import styles from "./campaign.module.css";
import type { StepProps } from "./step";
import { useCampaignCount } from "./use-campaign-count";

/** Who gets it, counted while it is chosen. */
export function AudienceStep({ draft, change, mayDefine, checks, isRight, problem }: StepProps & { problem: unknown }) {
  const found = useCampaignCount(draft, isRight);
  const said = checks?.errors.filter((one) => one.place.startsWith("audience")).map((one) => one.message);
  const audience = audienceOf(draft.audience);
  return (
    <Split
      main={
        <div className={styles.form}>
          <AudienceForm
            draft={draft.audience}
            onChange={(chosen) => change({ audience: chosen })}
            problem={problemAt(problem, "audience") ?? (audience && said?.join("; "))}
            disabled={!mayDefine}
          />
        </div>
      }
      side={
        <Section title={text.audience.count.title}>
          <AudienceCountPanel found={found} isAsked={audience !== null} />
        </Section>
      }
    />
  );
}
