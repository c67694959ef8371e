import type { Preview, Sequence, SimulatedMessage, Simulation } from "@tidings/client";
import { useMemo, useState } from "react";
import type { Chosen } from "../../../parts/content/live-preview";
import { text } from "../../../text";
import { Section } from "../../../ui/page";
import { Status } from "../../../ui/status";
import { Time } from "../../../ui/time";
import { exactTime } from "../../../ui/times";
import { SimulationView } from "../../workflows/dialogs/simulation-view";
import { MessagePreview } from "../../workflows/preview/message-preview";
import { type Cell, heatOf } from "../model/heat";
import { stepSummary } from "../model/summary";
import { HeatMap } from "./heat-map";
import styles from "./simulate.module.css";

const words = text.sequences.simulate;

/** What would happen: when, how much of each step, and to chosen people what exactly. */
export function SimulationShown({ simulation, people, sequence }: { simulation: Simulation; people: readonly Chosen[]; sequence: Sequence }) {
  const heat = useMemo(() => heatOf(simulation), [simulation]);
  const [cell, setCell] = useState<Cell | null>(heat.cells[0] ?? null);
  const labels = namesOf(simulation, sequence);
  const { audience, contacts } = simulation;
  return (
    <>
      {audience !== null && audience > contacts && <p className={styles.quiet}>{words.share(contacts, audience)}</p>}
      {!simulation.complete && <p className={styles.notice}>{words.incomplete(exactTime(new Date(simulation.reached)))}</p>}
      <Section title={words.heatmap} about={heat.cells.length > 0 ? words.hint : words.none}>
        <HeatMap heat={heat} chosen={cell} onChoose={setCell} labels={labels} />
      </Section>
      <SimulationView simulation={labelled(simulation, labels)} />
      {people.length > 0 && <Messages messages={simulation.messages} people={people} labels={labels} />}
    </>
  );
}

/** What people call each step: how it begins, or its day where it is not in the sequence any more. */
function namesOf({ steps }: Simulation, sequence: Sequence): Map<string, string> {
  const written = new Map([...(sequence.published?.steps ?? []), ...sequence.steps].map((step) => [step.id, step]));
  return new Map(
    steps.map(({ step: id, label }) => {
      const step = written.get(id);
      return [id, step ? `${step.stepOrder} · ${stepSummary(step)}` : label];
    }),
  );
}

/** Steps under the names that people know rather than their ids. */
function labelled(simulation: Simulation, labels: ReadonlyMap<string, string>): Simulation {
  const named = <Row extends { step: string }>(rows: readonly Row[]) => rows.map((row) => ({ ...row, step: labels.get(row.step) ?? row.step }));
  return { ...simulation, steps: named(simulation.steps), skippedBecause: named(simulation.skippedBecause), failedBecause: named(simulation.failedBecause) };
}

interface MessagesProps {
  messages: readonly SimulatedMessage[];
  people: readonly Chosen[];
  labels: ReadonlyMap<string, string>;
}

function Messages({ messages, people, labels }: MessagesProps) {
  const names = new Map(people.map((one) => [one.id, one.label]));
  return (
    <Section title={words.messages}>
      {messages.length === 0 && <p className={styles.quiet}>{words.noMessages}</p>}
      <ol className={styles.messages}>
        {messages.map((one, place) => (
          <li key={place}>
            <header>
              <b>{names.get(one.contactId ?? "") ?? one.recipient}</b>
              <span>{labels.get(one.step) ?? one.step}</span>
              <Status state={one.status} />
              <Time at={one.at} exact />
            </header>
            {one.reason && <p className={styles.quiet}>{one.reason}</p>}
            {Object.keys(one.payload).length > 0 && <MessagePreview preview={previewOf(one)} />}
          </li>
        ))}
      </ol>
    </Section>
  );
}

function previewOf({ channel, recipient, payload, contactId, step }: SimulatedMessage): Preview {
  return {
    channel: channel as Preview["channel"],
    part: step,
    contactId,
    contact: null,
    recipients: [recipient],
    content: payload,
    size: null,
    segments: null,
    problems: [],
    error: null,
    skipped: null,
  };
}
