/** What every field of a form knows: what is wrong, which names there are, whether it may be changed. */
import { createContext, use } from "react";
import type { Mark } from "../../../ui/code-editor";
import type { Variable } from "../api";
import { type PartProblem, problemsAt } from "../model/places";
import type { NodeTypes } from "../model/schema";

export interface PartForm {
  problems: readonly PartProblem[];
  variables: readonly Variable[];
  types: NodeTypes;
  canEdit: boolean;
}

const PartFormContext = createContext<PartForm | null>(null);

export const PartFormProvider = PartFormContext;

export function usePartForm(): PartForm {
  const form = use(PartFormContext);
  if (!form) throw new Error("there is no form around this field");
  return form;
}

export interface FieldProblem {
  /** In words, for a line below the field. */
  words: string | undefined;
  /** In a template, at its line. */
  marks: readonly Mark[];
}

export function useProblemAt(place: string): FieldProblem {
  const found = problemsAt(usePartForm().problems, place);
  const marks = found.filter((one) => one.line !== undefined).map(({ message, line }) => ({ message, ...(line === undefined ? {} : { line }) }));
  return { words: found.length ? found.map((one) => one.message).join("; ") : undefined, marks };
}
