import { useState } from "react";
import { CONTACT_CHANNELS } from "../../parts/audience/fields";
import { channelWord } from "../../parts/channel-word";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { Section } from "../../ui/page";
import { Select } from "../../ui/select";
import { TextInput } from "../../ui/text-input";
import type { Chosen } from "./chosen";
import type { Head } from "./csv";
import styles from "./import.module.css";
import { guessAll, type MappingProblem, PLAIN_FIELDS, problemOf, type Target } from "./mapping";

const words = text.importing;
const OPTIONS = [
  ...PLAIN_FIELDS.map((value) => ({ value: value, label: words.targets[value] })),
  ...CONTACT_CHANNELS.map((channel) => ({ value: `consent.${channel}`, label: words.consent(channelWord(channel)) })),
  { value: "attribute", label: words.targets.attribute },
  { value: "none", label: words.targets.none },
];

/** What each column becomes, with its first values beside it. */
export function Columns({ chosen, onStart }: { chosen: Chosen; onStart: (targets: readonly Target[]) => void }) {
  const [targets, setTargets] = useState(() => guessAll(chosen.head?.columns ?? []));
  const problem = chosen.head && problemOf(targets);
  return (
    <Section title={words.columnsTitle} about={chosen.head ? words.columnsAbout : words.objects}>
      {chosen.head && <Mapping head={chosen.head} targets={targets} onChange={setTargets} />}
      <div className={styles.start}>
        <Button kind="primary" disabled={Boolean(problem)} onClick={() => onStart(targets)}>
          {words.start}
        </Button>
        {problem && (
          <span role="alert" className={styles.problem}>
            {wordsOfProblem(problem)}
          </span>
        )}
      </div>
    </Section>
  );
}

function wordsOfProblem(problem: MappingProblem): string {
  if (problem.kind === "nobody") return words.nobody;
  return words.twice((words.targets as Partial<Record<string, string>>)[problem.name] ?? problem.name);
}

interface MappingProps {
  head: Head;
  targets: readonly Target[];
  onChange: (targets: Target[]) => void;
}

function Mapping({ head, targets, onChange }: MappingProps) {
  return (
    <table className={styles.mapping}>
      <thead>
        <tr>
          <th scope="col">{words.column}</th>
          <th scope="col">{words.examples}</th>
          <th scope="col">{words.becomes}</th>
          <th scope="col">{words.as}</th>
        </tr>
      </thead>
      <tbody>
        {head.columns.map((column, place) => (
          <MappingRow
            key={place}
            column={column}
            examples={head.rows.map((row) => row[place] ?? "").filter(Boolean)}
            target={targets[place] ?? { field: "none", attribute: "" }}
            onChange={(target) => onChange(targets.with(place, target))}
          />
        ))}
      </tbody>
    </table>
  );
}

interface MappingRowProps {
  column: string;
  examples: readonly string[];
  target: Target;
  onChange: (target: Target) => void;
}

function MappingRow({ column, examples, target, onChange }: MappingRowProps) {
  return (
    <tr className={target.field === "none" ? styles.out : undefined}>
      <th scope="row">{column}</th>
      <td className={styles.examples}>{examples.join(" · ")}</td>
      <td>
        <Select
          small
          aria-label={`${column}: ${words.becomes}`}
          value={target.field}
          options={OPTIONS}
          onChange={(field) => onChange({ ...target, field })}
        />
      </td>
      <td>
        {target.field === "attribute" && (
          <TextInput small mono aria-label={`${column}: ${words.as}`} value={target.attribute} onChange={(attribute) => onChange({ ...target, attribute })} />
        )}
      </td>
    </tr>
  );
}
