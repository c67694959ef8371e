/** A message's content as a form edits it: always an object with the fields of its channel. */
import type { JsonObject } from "../graph/definition";
import type { ChannelForm } from "../../screens/workflows/model/schema";
import type { PartProblem } from "../../screens/workflows/model/places";

export interface Written {
  subject: string | null;
  content: string | Readonly<Record<string, unknown>>;
}

export function fieldsOf({ subject, content }: Written, form: ChannelForm): JsonObject {
  if (typeof content !== "string") return content as JsonObject;
  const head = form.subject && subject !== null ? { [form.subject]: subject } : {};
  return { ...head, ...(form.text ? { [form.text]: content } : {}) };
}

/** The plain spelling where it says everything: a text, and the subject beside it. */
export function writtenOf(fields: JsonObject, form: ChannelForm): Written {
  const given = Object.entries(fields).filter(([, value]) => value !== "");
  const isPlain = form.text !== null && given.every(([name, value]) => typeof value === "string" && (name === form.text || name === form.subject));
  const text = form.text ? fields[form.text] : undefined;
  if (!isPlain || typeof text !== "string") return { subject: null, content: Object.fromEntries(given) };
  const subject = form.subject ? fields[form.subject] : undefined;
  return { subject: typeof subject === "string" && subject ? subject : null, content: text };
}

/** What another channel takes over: what it says, and its subject where both have one. */
export function carriedOver(fields: JsonObject, from: ChannelForm, to: ChannelForm): JsonObject {
  const pairs = [
    [from.text, to.text],
    [from.subject, to.subject],
  ] as const;
  return Object.fromEntries(pairs.flatMap(([was, is]) => (was && is && fields[was] !== undefined ? [[is, fields[was]]] : [])));
}

/** The problems below a place, as the form's fields know them: `steps[0].content.body` is that of `body`. */
export function problemsBelow(errors: readonly { place: string; message: string }[], place: string, name: string, form: ChannelForm): PartProblem[] {
  return errors.flatMap(({ place: at, message }): PartProblem[] => {
    const rest = place === "" ? at : at.startsWith(`${place}.`) ? at.slice(place.length + 1) : "";
    if (rest === name) return [{ field: form.text ?? "", message }];
    if (rest === "subject") return [{ field: form.subject ?? "subject", message }];
    return rest.startsWith(`${name}.`) ? [{ field: rest.slice(name.length + 1), message }] : [];
  });
}
