import type { ProblemPlace, Variable } from "@tidings/client";
import { ArrowDown, ArrowUp, X } from "lucide-react";
import { isObject, type JsonObject, withEntry } from "../../parts/graph/definition";
import { problemsBelow } from "../../parts/content/content";
import { ContentForm } from "../../parts/content/content-form";
import { text } from "../../text";
import { Checkbox } from "../../ui/checkbox";
import { cx } from "../../ui/cx";
import { IconButton } from "../../ui/icon-button";
import type { PartProblem } from "../workflows/model/places";
import type { ChannelForm, NodeTypes } from "../workflows/model/schema";
import { moved, type RuleDraft, TIMING } from "./model/draft";
import styles from "./rules.module.css";

const words = text.rules;

interface StepFormProps {
  step: JsonObject;
  place: number;
  draft: RuleDraft;
  change: (some: Partial<RuleDraft>) => void;
  types: NodeTypes;
  form: ChannelForm;
  errors: readonly ProblemPlace[];
  variables: readonly Variable[];
  canEdit: boolean;
  /** The one that is previewed. */
  isCurrent: boolean;
  onCurrent: () => void;
}

/** One message of a rule: what it says, when it leaves and whom it is for. */
export function StepForm({ step, place, draft, change, types, form, errors, variables, canEdit, isCurrent, onCurrent }: StepFormProps) {
  const { template } = step;
  const at = `steps[${place}]`;
  const set = (next: JsonObject) => change({ steps: withEntry(draft.steps, place, next) });
  const shared = { types, variables, canEdit };
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- it only notices which of its fields has the focus
    <article className={cx(styles.step, isCurrent && draft.steps.length > 1 && styles.current)} onFocus={onCurrent}>
      <header className={styles.stepHead}>
        <h3>{words.step(place + 1)}</h3>
        <Checkbox checked={step["enabled"] !== false} disabled={!canEdit} onChange={(enabled) => set({ ...step, enabled })}>
          {words.stepEnabled}
        </Checkbox>
        {canEdit && <Buttons place={place} count={draft.steps.length} onMove={(to) => change({ steps: moved(draft.steps, place, to) })} onRemove={() => change({ steps: draft.steps.filter((_, one) => one !== place) })} />}
      </header>
      <ContentForm
        key={form.channel}
        {...shared}
        schema={form.schema}
        value={isObject(template) ? template : {}}
        onChange={(next) => set({ ...step, template: next })}
        problems={problemsBelow(errors, at, "template", form)}
      />
      <div className={styles.timing}>
        <h4>{words.timing}</h4>
        <ContentForm {...shared} schema={TIMING} value={step} onChange={set} problems={ownProblems(errors, at)} />
      </div>
    </article>
  );
}

function ownProblems(errors: readonly ProblemPlace[], at: string): PartProblem[] {
  const own = errors.filter((one) => one.place.startsWith(`${at}.`) && !one.place.startsWith(`${at}.template`));
  return own.map(({ place, message }) => ({ field: place.slice(at.length + 1), message }));
}

interface ButtonsProps {
  place: number;
  count: number;
  onMove: (to: number) => void;
  onRemove: () => void;
}

function Buttons({ place, count, onMove, onRemove }: ButtonsProps) {
  return (
    <>
      {count > 1 && (
        <>
          <IconButton small label={words.moveUp} disabled={place === 0} onClick={() => onMove(place - 1)}>
            <ArrowUp size={14} aria-hidden />
          </IconButton>
          <IconButton small label={words.moveDown} disabled={place === count - 1} onClick={() => onMove(place + 1)}>
            <ArrowDown size={14} aria-hidden />
          </IconButton>
        </>
      )}
      <IconButton small label={words.removeStep} onClick={onRemove}>
        <X size={14} aria-hidden />
      </IconButton>
    </>
  );
}
