import type { ReactNode } from "react";
import type { Json } from "../../../parts/graph/definition";
import { Field } from "../../../ui/field";
import { type FormField, isBlank } from "../model/schema";
import { OnFailureControl, ReportControl } from "./failure-controls";
import styles from "./forms.module.css";
import { GroupControl, GroupsControl, ListControl, OneOrSeveralControl, PairsControl } from "./list-controls";
import { useProblemAt } from "./part-form";
import { ChoiceControl, NameControl, NumberControl, YesNoControl } from "./plain-controls";
import { type ControlProps, HtmlControl, JsonControl, LineControl, LiquidControl, TextControl } from "./text-controls";
import { DurationControl, TimeControl } from "./time-controls";

interface FieldRowProps {
  field: FormField;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  place: string;
  /** Without a word about what it is for. */
  quiet?: boolean;
  hint?: ReactNode;
  labelHidden?: boolean;
}

/** What holds several controls has no single one that a label could name. */
const GROUPS = new Set(["list", "pairs", "group", "groups"]);

/** One field of a form with its label, its problem and what it is edited with. */
export function FieldRow({ field, value, onChange, place, quiet, hint, labelHidden }: FieldRowProps) {
  const { words } = useProblemAt(place);
  const change = (next: Json | undefined) => onChange(isBlank(next) && !field.required ? undefined : next);
  const control = controlFor(field, { value, onChange: change, place, label: field.title });
  const about = quiet ? hint : (hint ?? field.about);
  if (GROUPS.has(field.control) || (field.control === "oneOrSeveral" && Array.isArray(value))) {
    return (
      <fieldset className={styles.fieldset}>
        <legend className={labelHidden ? "visually-hidden" : styles.legend}>{field.title}</legend>
        {about && <p className={styles.about}>{about}</p>}
        {control}
      </fieldset>
    );
  }
  return (
    <Field label={field.title} required={field.required} labelHidden={labelHidden ?? false} hint={about} problem={words}>
      {control}
    </Field>
  );
}

function controlFor(field: FormField, props: ControlProps): ReactNode {
  const { schema } = field;
  switch (field.control) {
    case "line":
      return <LineControl {...props} />;
    case "liquid":
      return <LiquidControl {...props} />;
    case "text":
      return <TextControl {...props} />;
    case "html":
      return <HtmlControl {...props} />;
    case "json":
      return <JsonControl {...props} />;
    case "number":
      return <NumberControl {...props} schema={schema} />;
    case "yesNo":
      return <YesNoControl {...props} schema={schema} />;
    case "choice":
      return <ChoiceControl {...props} schema={schema} />;
    case "duration":
      return <DurationControl {...props} />;
    case "time":
      return <TimeControl {...props} />;
    case "name":
      return <NameControl {...props} schema={schema} />;
    case "oneOrSeveral":
      return <OneOrSeveralControl {...props} schema={schema} />;
    case "list":
      return <ListControl {...props} schema={schema} />;
    case "pairs":
      return <PairsControl {...props} schema={schema} />;
    case "group":
      return <GroupControl {...props} schema={schema} />;
    case "groups":
      return <GroupsControl {...props} schema={schema} />;
    case "onFailure":
      return <OnFailureControl {...props} />;
    case "report":
      return <ReportControl {...props} schema={schema} />;
  }
}
