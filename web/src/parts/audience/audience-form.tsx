import { type ReactNode, useId } from "react";
import { useList } from "../../api/queries";
import { text } from "../../text";
import { CodeEditor } from "../../ui/code-editor";
import { Field } from "../../ui/field";
import { Select } from "../../ui/select";
import styles from "./audience.module.css";
import type { AudienceDraft } from "./filter";
import { FilterBuilder } from "./filter-builder";
import { useAttributeNames } from "./use-count";

const words = text.audience;

interface AudienceFormProps {
  draft: AudienceDraft;
  onChange: (draft: AudienceDraft) => void;
  /** What is offered: a segment is made of a filter or of everyone. */
  whom?: readonly AudienceDraft["whom"][];
  problem?: ReactNode;
  disabled?: boolean;
}

const ALL = ["matching", "segment", "everyone"] as const;

/** Whom something is for: everyone, a segment, or the people who match a filter. */
export function AudienceForm({ draft, onChange, whom = ALL, problem, disabled = false }: AudienceFormProps) {
  const name = useId();
  return (
    <div className={styles.form}>
      <fieldset className={styles.kinds} disabled={disabled}>
        <legend>{words.whom}</legend>
        {whom.map((one) => (
          <label key={one}>
            <input type="radio" name={name} checked={draft.whom === one} onChange={() => onChange({ ...draft, whom: one })} />
            {words.kinds[one]}
          </label>
        ))}
      </fieldset>
      {draft.whom === "segment" && <SegmentField draft={draft} onChange={onChange} disabled={disabled} />}
      {draft.whom !== "everyone" && <Conditions draft={draft} onChange={onChange} disabled={disabled} />}
      <Named named={draft.named} />
      {problem && <p className={styles.problem}>{problem}</p>}
    </div>
  );
}

function SegmentField({ draft, onChange, disabled }: { draft: AudienceDraft; onChange: (draft: AudienceDraft) => void; disabled: boolean }) {
  const { rows } = useList("GET /v1/segments", { query: { limit: 200 } });
  const chosen = rows.find((one) => one.id === draft.segmentId);
  const options = [{ value: "", label: words.chooseSegment }, ...rows.map((one) => ({ value: one.id, label: one.name }))];
  return (
    <Field label={words.segment} hint={chosen?.inWords}>
      <Select value={draft.segmentId} options={options} onChange={(segmentId) => onChange({ ...draft, segmentId })} disabled={disabled} />
    </Field>
  );
}

function Conditions({ draft, onChange, disabled }: { draft: AudienceDraft; onChange: (draft: AudienceDraft) => void; disabled: boolean }) {
  const attributes = useAttributeNames();
  return (
    <>
      {draft.whom === "segment" && <p className={styles.quiet}>{words.narrow}</p>}
      {draft.written === null ? (
        <FilterBuilder groups={draft.groups} onChange={(groups) => onChange({ ...draft, groups })} attributes={attributes} disabled={disabled} />
      ) : (
        <Field label={words.written} hint={words.writtenHint}>
          <CodeEditor language="json" value={draft.written} onChange={(written) => onChange({ ...draft, written })} readOnly={disabled} />
        </Field>
      )}
    </>
  );
}

function Named({ named }: { named: AudienceDraft["named"] }) {
  const count = (ids: unknown) => (Array.isArray(ids) ? ids.length : 0);
  const added = count(named["contactIds"]);
  const left = count(named["excludeContactIds"]);
  return (
    <>
      {added > 0 && <p className={styles.quiet}>{words.named(added)}</p>}
      {left > 0 && <p className={styles.quiet}>{words.unnamed(left)}</p>}
    </>
  );
}
