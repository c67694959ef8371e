import { useState } from "react";
import { type List, useList } from "../../../api/queries";
import { textOf } from "../../../parts/graph/definition";
import { text } from "../../../text";
import { Combobox } from "../../../ui/combobox";
import { Select } from "../../../ui/select";
import { TextInput } from "../../../ui/text-input";
import type { Schema } from "../model/schema";
import { usePartForm } from "./part-form";
import type { ControlProps } from "./text-controls";

const words = text.workflows.form;

export function NumberControl({ value, onChange, schema }: ControlProps & { schema: Schema }) {
  const { canEdit } = usePartForm();
  const byDefault = schema.default;
  return (
    <TextInput
      type="number"
      value={typeof value === "number" ? value : textOf(value)}
      min={schema.minimum}
      max={schema.maximum}
      step={schema.type === "integer" ? 1 : "any"}
      placeholder={typeof byDefault === "number" ? String(byDefault) : ""}
      readOnly={!canEdit}
      onChange={(typed) => onChange(typed === "" ? undefined : Number(typed))}
    />
  );
}

export function ChoiceControl({ value, onChange, schema }: ControlProps & { schema: Schema }) {
  const { canEdit } = usePartForm();
  const wordsOf = (one: string) => words.words[one] ?? one;
  const byDefault = typeof schema.default === "string" ? words.defaultIs(wordsOf(schema.default)) : words.byDefault;
  const options = [{ value: "", label: byDefault }, ...(schema.enum ?? []).map((one) => ({ value: one, label: wordsOf(one) }))];
  return <Select value={textOf(value)} options={options} disabled={!canEdit} onChange={(one) => onChange(one || undefined)} />;
}

export function YesNoControl({ value, onChange, schema }: ControlProps & { schema: Schema }) {
  const { canEdit } = usePartForm();
  const options = [
    { value: "", label: words.defaultIs((schema.default === true ? words.yes : words.no).toLowerCase()) },
    { value: "true", label: words.yes },
    { value: "false", label: words.no },
  ];
  const shown = typeof value === "boolean" ? String(value) : "";
  return <Select value={shown} options={options} disabled={!canEdit} onChange={(one) => onChange(one === "" ? undefined : one === "true")} />;
}

interface Named {
  name: string;
  channel?: string | null;
}

/** The names in the workspace that a field of this format may have. */
function useNames(format: string | undefined): List<Named> {
  const { canEdit } = usePartForm();
  const templates = useList("GET /v1/templates", { query: { limit: 100 } }, { enabled: canEdit && format === "template" });
  const senders = useList("GET /v1/senders", {}, { enabled: canEdit && format === "sender" });
  const functions = useList("GET /v1/functions", {}, { enabled: canEdit && format === "function" });
  return format === "template" ? templates : format === "sender" ? senders : functions;
}

/** The name of something in the workspace: chosen of those there are, or written for one still to come. */
export function NameControl({ value, onChange, schema }: ControlProps & { schema: Schema }) {
  const { canEdit } = usePartForm();
  const [typed, setTyped] = useState<string | null>(null);
  const list = useNames(schema.format);
  const query = typed ?? textOf(value);
  const fitting = list.rows.filter((one) => one.name.toLowerCase().includes((typed ?? "").toLowerCase()));
  const choices = [...new Map(fitting.map((one) => [one.name, { value: one.name, label: one.name, about: one.channel }])).values()].slice(0, 30);
  return (
    <Combobox
      query={query}
      choices={choices}
      disabled={!canEdit}
      onSearch={(now) => {
        setTyped(now);
        onChange(now || undefined);
      }}
      onChoose={(choice) => {
        setTyped(null);
        onChange(choice.value);
      }}
    />
  );
}
