/** What the parts of the editor share. */
import { createContext, use } from "react";
import type { Definition } from "../../../parts/graph/definition";
import type { Graph } from "../../../parts/graph/graph";
import type { Point } from "../../../parts/graph/layout";
import type { Placed } from "../../../parts/graph/place";
import type { Variable } from "../api";
import type { Edited } from "../model/commands";
import type { Problems } from "../model/places";
import type { NodeTypes } from "../model/schema";
import type { SampleState } from "./sample";
import type { Panel, Selected } from "./state";

export interface Editing {
  id: string;
  canEdit: boolean;
  definition: Definition;
  graph: Graph;
  placed: Placed;
  types: NodeTypes;
  selected: Selected;
  panel: Panel;
  problems: Problems;
  variables: readonly Variable[];
  sample: SampleState;
  /** Do an edit; those with the same `key` shortly after each other are undone together. */
  edit: (edited: Edited, key?: string, moved?: readonly [string, Point]) => void;
  select: (selected: Partial<Selected>, panel?: Panel) => void;
  show: (panel: Panel) => void;
  move: (moved: readonly (readonly [string, Point])[]) => void;
}

const EditingContext = createContext<Editing | null>(null);

export const EditingProvider = EditingContext;

export function useEditing(): Editing {
  const editing = use(EditingContext);
  if (!editing) throw new Error("there is no editor around this");
  return editing;
}
