import type { Execution } from "@tidings/client";
import { Link } from "wouter";
import { JsonView } from "../../parts/work/json-view";
import { text } from "../../text";
import { KeyValue } from "../../ui/key-value";
import { Section } from "../../ui/page";
import { Time } from "../../ui/time";
import { duration } from "../../ui/times";
import styles from "./execution.module.css";
import { secondsOf } from "../../parts/work/spans";

const words = text.executions;

/** What was given, and the ids that an engineer looks for. */
export function Facts({ execution: one }: { execution: Execution }) {
  const seconds = secondsOf(one.startedAt, one.completedAt);
  return (
    <div className={styles.facts}>
      <Section title={words.facts}>
        <KeyValue
          pairs={[
            [text.work.workflow, <Link key="workflow" href={`/workflows/${one.workflowId}`}>{one.workflowName}</Link>],
            [words.position, one.status === "completed" ? undefined : words.ofNodes(one.currentStep + 1, one.totalSteps)],
            [words.triggeredBy, one.triggeredBy],
            [words.key, <code key="key">{one.idempotencyKey}</code>],
            [words.retried, one.retryCount || undefined],
            [text.work.created, <Time key="created" at={one.createdAt} exact />],
            [words.took, seconds === undefined ? undefined : duration(seconds)],
          ]}
        />
      </Section>
      <Section title={words.data}>
        <JsonView value={one.inputPayload} label={words.data} />
      </Section>
    </div>
  );
}
