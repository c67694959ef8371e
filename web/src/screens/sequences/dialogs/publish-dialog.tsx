import type { Sequence } from "@tidings/client";
import { useState } from "react";
import { text } from "../../../text";
import { ConfirmDialog } from "../../../ui/confirm-dialog";
import { Tag } from "../../../ui/status";
import { toast } from "../../../ui/toast";
import { updateSequence } from "../api";
import { changesOf } from "../model/changes";
import { stepSummary } from "../model/summary";
import styles from "../sequences.module.css";

const words = text.sequences.publishing;
const TONES = { added: "good", changed: "info", removed: "bad" } as const;
type Choice = "leave" | "move";

/** What changes, and what becomes of those on the way. */
export function PublishDialog({ sequence, onClose }: { sequence: Sequence; onClose: () => void }) {
  const [choice, setChoice] = useState<Choice>("leave");
  const { id, name, published, inFlight } = sequence;
  const underWay = (inFlight ?? []).reduce((sum, one) => sum + one.count, 0);
  const publish = async () => {
    const done = await updateSequence(id, { status: "active", ...(underWay > 0 ? { inFlight: choice } : {}) });
    const { moved } = done;
    toast(words.done(done.published?.version ?? 1), moved ? { detail: words.moved(moved.moved + moved.completed, moved.left) } : {});
  };
  const about = published ? words.next(published.version + 1) : words.first;
  return (
    <ConfirmDialog open onClose={onClose} title={words.title(name)} about={about} verb={words.verb} onConfirm={publish}>
      <div className={styles.stack}>
        {published && <ChangeList sequence={sequence} />}
        {underWay > 0 && (
          <fieldset className={styles.choices}>
            <legend>{words.underWay(underWay)}</legend>
            {(["leave", "move"] as const).map((one) => (
              <label key={one}>
                <input type="radio" name="in-flight" checked={choice === one} onChange={() => setChoice(one)} /> {words[one]}
              </label>
            ))}
          </fieldset>
        )}
      </div>
    </ConfirmDialog>
  );
}

function ChangeList({ sequence }: { sequence: Sequence }) {
  const { steps, settings } = changesOf(sequence);
  return (
    <div>
      <h3 className={styles.small}>{words.changes}</h3>
      <ul className={styles.changes}>
        {steps.map(({ kind, step }) => (
          <li key={step.id}>
            <Tag tone={TONES[kind]}>{words[kind]}</Tag>
            <span>{text.sequences.step.title(step.stepOrder)}</span>
            <span className={styles.quiet}>{stepSummary(step)}</span>
          </li>
        ))}
        {settings.length > 0 && (
          <li>
            <Tag tone="info">{words.changed}</Tag>
            <span>{words.settings}</span>
            <span className={styles.quiet}>{settings.join(", ")}</span>
          </li>
        )}
      </ul>
    </div>
  );
}
