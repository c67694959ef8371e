import { useMemo, useState } from "react";
import type { Json } from "../../../parts/graph/definition";
import { textOf } from "../../../parts/graph/definition";
import { text } from "../../../text";
import { CodeEditor } from "../../../ui/code-editor";
import { TextInput } from "../../../ui/text-input";
import { liquidWords, proposed } from "./completion";
import { usePartForm, useProblemAt } from "./part-form";

export interface ControlProps {
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  /** Below the part: `subject`, `retry.attempts`. */
  place: string;
  label: string;
  placeholder?: string | undefined;
}

export function LineControl({ value, onChange, placeholder }: ControlProps) {
  const { canEdit } = usePartForm();
  return <TextInput value={textOf(value)} onChange={onChange} placeholder={placeholder} readOnly={!canEdit} spellCheck={false} />;
}

/** A template in one line. */
export function LiquidControl(props: ControlProps) {
  return <Template {...props} oneLine />;
}

/** A template of several lines. */
export function TextControl(props: ControlProps) {
  return <Template {...props} />;
}

export function HtmlControl(props: ControlProps) {
  return <Template {...props} html />;
}

function Template({ value, onChange, place, placeholder, oneLine, html }: ControlProps & { oneLine?: boolean; html?: boolean }) {
  const { types, variables, canEdit } = usePartForm();
  const { marks } = useProblemAt(place);
  const complete = useMemo(() => liquidWords(types.liquid), [types]);
  const names = useMemo(() => proposed(variables), [variables]);
  const shape = oneLine ? { oneLine } : { minHeight: html ? 220 : 132, maxHeight: 460, lines: Boolean(html) };
  return (
    <CodeEditor
      value={textOf(value)}
      onChange={onChange}
      language={html ? "liquid-in-html" : "liquid"}
      variables={names}
      complete={complete}
      marks={marks}
      readOnly={!canEdit}
      placeholder={placeholder ?? ""}
      {...shape}
    />
  );
}

/** An object as JSON; what is no JSON yet is kept here until it is. */
export function JsonControl({ value, onChange, place }: ControlProps) {
  const { variables, canEdit } = usePartForm();
  const { marks } = useProblemAt(place);
  const [typed, setTyped] = useState<{ text: string; of: Json | undefined } | null>(null);
  const names = useMemo(() => proposed(variables), [variables]);
  const shown = typed && typed.of === value ? typed.text : jsonText(value);
  const isWrong = typed !== null && typed.of === value && parsed(typed.text) === undefined;
  const change = (written: string) => {
    const next = parsed(written);
    setTyped({ text: written, of: next === undefined ? value : next });
    if (next !== undefined) onChange(next);
  };
  return (
    <>
      <CodeEditor value={shown} onChange={change} language="json" variables={names} marks={marks} readOnly={!canEdit} minHeight={96} maxHeight={360} lines={false} />
      {isWrong && <span role="status">{text.workflows.form.notJson}</span>}
    </>
  );
}

export function jsonText(value: Json | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** What a text says as JSON; a template that makes JSON stays a text, and so does nothing yet. */
function parsed(written: string): Json | undefined {
  try {
    return JSON.parse(written) as Json;
  } catch {
    return undefined;
  }
}
