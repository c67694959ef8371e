import type { GivenSequenceSimulation, Sequence, Simulation } from "@tidings/client";
import { X } from "lucide-react";
import { useState } from "react";
import { api } from "../../../api/client";
import { AudienceForm } from "../../../parts/audience/audience-form";
import { audienceOf, EMPTY_AUDIENCE } from "../../../parts/audience/filter";
import type { Chosen } from "../../../parts/content/live-preview";
import { text } from "../../../text";
import { Button } from "../../../ui/button";
import { Field } from "../../../ui/field";
import { IconButton } from "../../../ui/icon-button";
import { Problem } from "../../../ui/problem";
import { Select } from "../../../ui/select";
import { Skeleton } from "../../../ui/skeleton";
import { Tag } from "../../../ui/status";
import { TextInput } from "../../../ui/text-input";
import { useSubmit } from "../../../ui/use-submit";
import { ContactChoice } from "../../workflows/preview/contact-choice";
import styles from "./simulate.module.css";
import { SimulationShown } from "./simulation-shown";

const words = text.sequences.simulate;
const MINUTES_3 = 180_000;

interface Wanted {
  days: string;
  published: boolean;
  zone: string;
  people: readonly Chosen[];
}

/** The coming days of the draft or of what is published, as a heat map with the messages of chosen people. */
export function SimulateTab({ sequence }: { sequence: Sequence }) {
  const [wanted, setWanted] = useState<Wanted>({ days: "90", published: !sequence.hasDraft && sequence.published !== null, zone: Intl.DateTimeFormat().resolvedOptions().timeZone, people: [] });
  const [audience, setAudience] = useState({ ...EMPTY_AUDIENCE, whom: "everyone" as (typeof EMPTY_AUDIENCE)["whom"] });
  const [result, setResult] = useState<Simulation | null>(null);
  const contacts = audienceOf(audience);
  const { busy, problem, onSubmit } = useSubmit(async () => {
    const body: GivenSequenceSimulation = { days: Number(wanted.days), published: wanted.published, timeZone: wanted.zone, messagesOf: wanted.people.map((one) => one.id) };
    setResult(await api.sequences.simulate(sequence.id, contacts ? { ...body, contacts } : body, { timeoutMs: MINUTES_3 }));
  });
  return (
    <div className={styles.simulate}>
      <form onSubmit={onSubmit} className={styles.form}>
        <p className={styles.quiet}>{words.about}</p>
        <Settings wanted={wanted} onChange={setWanted} isPublished={sequence.published !== null} />
        <AudienceForm draft={audience} onChange={setAudience} />
        <People people={wanted.people} onChange={(people) => setWanted({ ...wanted, people })} />
        <div>
          <Button kind="primary" type="submit" busy={busy} disabled={!contacts || sequence.steps.length === 0}>
            {busy ? words.running : words.run}
          </Button>
        </div>
      </form>
      <div className={styles.result} aria-busy={busy}>
        {problem !== null && <Problem error={problem} />}
        {busy && !result && <Skeleton lines={8} />}
        {result && <SimulationShown key={result.start} simulation={result} people={wanted.people} sequence={sequence} />}
      </div>
    </div>
  );
}

function Settings({ wanted, onChange, isPublished }: { wanted: Wanted; onChange: (wanted: Wanted) => void; isPublished: boolean }) {
  const versions = [
    { value: "draft", label: words.draft },
    { value: "published", label: words.published, disabled: !isPublished },
  ];
  return (
    <div className={styles.settings}>
      <Field label={words.what}>
        <Select value={wanted.published ? "published" : "draft"} options={versions} onChange={(chosen) => onChange({ ...wanted, published: chosen === "published" })} />
      </Field>
      <Field label={words.days}>
        <TextInput type="number" min={1} max={365} required value={wanted.days} onChange={(days) => onChange({ ...wanted, days })} />
      </Field>
      <Field label={words.zone} className={styles.wide}>
        <TextInput value={wanted.zone} onChange={(zone) => onChange({ ...wanted, zone })} spellCheck={false} />
      </Field>
    </div>
  );
}

/** Whose messages are shown in full. */
function People({ people, onChange }: { people: readonly Chosen[]; onChange: (people: readonly Chosen[]) => void }) {
  const add = ({ contact }: { contact?: Chosen | null }) => {
    if (contact && !people.some((one) => one.id === contact.id)) onChange([...people, contact]);
  };
  return (
    <div className={styles.people}>
      <span className={styles.label}>{words.messagesOf}</span>
      {people.map((one) => (
        <Tag key={one.id}>
          {one.label}
          <IconButton small label={words.removeContact(one.label)} onClick={() => onChange(people.filter((other) => other.id !== one.id))}>
            <X size={12} aria-hidden />
          </IconButton>
        </Tag>
      ))}
      <ContactChoice key={people.length} sample={{ contact: null, change: add }} />
    </div>
  );
}
