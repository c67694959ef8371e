import type { Explained } from "@tidings/client";
import { useState } from "react";
import { api } from "../../api/client";
import { asProblem, problemAt, problemElsewhere } from "../../api/problem";
import { useRead } from "../../api/queries";
import { useMay } from "../../api/session";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { CodeEditor } from "../../ui/code-editor";
import { Field } from "../../ui/field";
import { Page, Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Split } from "../../ui/split";
import { TextInput } from "../../ui/text-input";
import { useQueryValue } from "../../ui/use-query";
import { useSubmit } from "../../ui/use-submit";
import { objectIn } from "../workflows/editor/sample";
import { Decisions } from "./decisions";
import styles from "./events.module.css";

const words = text.events;
const PLACES = ["trigger", "lead", "partner", "agent", "variables"];
const BEGUN = {
  lead: { name: "Ada Lovelace", email: "ada@example.com", phone: "+442071838750" },
  partner: { name: "Grace Hopper", email: "grace@example.com" },
  agent: { name: "Alan Turing", email: "alan@example.com" },
  variables: {},
};

/** Asks what an event would do, without sending it. */
export default function Explain() {
  const canList = useMay("readDefinitions");
  const [trigger, setTrigger] = useQueryValue("trigger");
  const [written, setWritten] = useState(JSON.stringify(BEGUN, null, 2));
  const [explained, setExplained] = useState<Explained | null>(null);
  const { data: matrix } = useRead("GET /v1/rules/matrix", { query: { limit: 200 } }, { enabled: canList });
  const data = objectIn(written);
  const { busy, problem, onSubmit } = useSubmit(async () => {
    setExplained(null);
    setExplained(await api.events.explain({ ...data, trigger }));
  });
  const elsewhere = problemElsewhere(problem, PLACES);
  const wrong = data ? wordsFor(problem) : words.notJson;
  const form = (
    <form onSubmit={onSubmit} className={styles.stack}>
      <Field label={words.trigger} problem={problemAt(problem, "trigger")} required>
        <TextInput mono required list="triggers" value={trigger} spellCheck={false} autoComplete="off" onChange={setTrigger} />
      </Field>
      <datalist id="triggers">
        {matrix?.rows.map((row) => (
          <option key={row.trigger} value={row.trigger} />
        ))}
      </datalist>
      <Field label={words.data} hint={words.dataHint} problem={wrong}>
        <CodeEditor value={written} language="json" lines={false} minHeight={220} maxHeight={520} onChange={setWritten} />
      </Field>
      {elsewhere !== null && <Problem error={elsewhere} />}
      <div>
        <Button kind="primary" type="submit" busy={busy} disabled={!trigger || !data}>
          {words.explainVerb}
        </Button>
      </div>
    </form>
  );
  const answer = (
    <Section title={words.result} about={explained ? undefined : words.resultHint}>
      <div aria-live="polite">{explained && <Decisions decisions={explained.decisions} />}</div>
    </Section>
  );
  return (
    <Page title={words.explain} back={{ href: "/events", label: words.title }}>
      <p className={styles.about}>{words.explainAbout}</p>
      <Split main={form} side={answer} sideWidth={720} />
    </Page>
  );
}

/** What is wrong with the data, each with its place: `variables.quote is missing`. */
function wordsFor(problem: unknown): string | undefined {
  if (problem === null) return undefined;
  const found = asProblem(problem).errors.filter((one) => one.place !== "trigger");
  return found.length ? found.map((one) => `${one.place} ${one.message}`).join("; ") : undefined;
}
