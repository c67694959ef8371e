import type { Variable } from "@tidings/client";
import { useMemo } from "react";
import { PartFormProvider } from "../../screens/workflows/forms/part-form";
import { SchemaForm } from "../../screens/workflows/forms/schema-form";
import type { PartProblem } from "../../screens/workflows/model/places";
import type { NodeTypes, Schema } from "../../screens/workflows/model/schema";
import type { JsonObject } from "../graph/definition";

interface ContentFormProps {
  types: NodeTypes;
  schema: Schema;
  value: JsonObject;
  onChange: (value: JsonObject) => void;
  problems?: readonly PartProblem[];
  variables?: readonly Variable[];
  canEdit: boolean;
}

const NONE: readonly never[] = [];

/** The fields of a message over one channel, as the API's own description of the channel has them. */
export function ContentForm({ types, schema, value, onChange, problems = NONE, variables = NONE, canEdit }: ContentFormProps) {
  const form = useMemo(() => ({ types, problems, variables, canEdit }), [types, problems, variables, canEdit]);
  return (
    <PartFormProvider value={form}>
      <SchemaForm schema={schema} value={value} onChange={onChange} />
    </PartFormProvider>
  );
}
