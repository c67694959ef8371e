/** What the editor holds: the definition with its history, what is selected, and what was dragged away from the layout. */
import type { Definition } from "../../../parts/graph/definition";
import { graphOf } from "../../../parts/graph/graph";
import type { Point } from "../../../parts/graph/layout";
import type { Moved } from "../../../parts/graph/place";
import type { Edited } from "../model/commands";
import { begin, did, type History, redo, undo } from "../model/history";

export interface Selected {
  nodes: readonly string[];
  edge: string | undefined;
}

/** What the panel beside the graph shows. */
export type Panel = "form" | "options" | "problems" | null;

export interface EditorState {
  history: History<Definition>;
  selected: Selected;
  moved: Moved;
  panel: Panel;
}

export type Action =
  | { do: "edit"; edited: Edited; at: number; key?: string; moved?: readonly [string, Point] }
  | { do: "undo" | "redo" | "tidy" }
  | { do: "select"; selected: Partial<Selected>; panel?: Panel }
  | { do: "show"; panel: Panel }
  | { do: "move"; moved: readonly (readonly [string, Point])[] }
  | { do: "load"; definition: Definition };

const NOTHING: Selected = { nodes: [], edge: undefined };

export function beginEditing(definition: Definition): EditorState {
  return { history: begin(definition), selected: NOTHING, moved: new Map(), panel: null };
}

export function reduce(state: EditorState, action: Action): EditorState {
  switch (action.do) {
    case "edit":
      return edited(state, action);
    case "undo":
      return withHistory(state, undo(state.history));
    case "redo":
      return withHistory(state, redo(state.history));
    case "tidy":
      return { ...state, moved: new Map() };
    case "select":
      return selectedIn(state, action.selected, action.panel);
    case "show":
      return { ...state, panel: action.panel };
    case "move":
      return { ...state, moved: new Map([...state.moved, ...action.moved]) };
    case "load":
      return { ...beginEditing(action.definition), panel: state.panel === "form" ? null : state.panel };
  }
}

function edited(state: EditorState, { edited: { definition, nodes, edge }, at, key, moved }: Extract<Action, { do: "edit" }>): EditorState {
  if (definition === state.history.present) return state;
  const selected = edge !== undefined ? { nodes: [], edge } : nodes ? { nodes, edge: undefined } : state.selected;
  const known = graphOf(definition).byKey;
  const places = [...state.moved, ...(moved ? [moved] : [])].filter(([one]) => known.has(one));
  return { ...state, history: did(state.history, definition, at, key), selected, moved: new Map(places) };
}

/** What is selected stays so where it is still there. */
function withHistory(state: EditorState, history: History<Definition>): EditorState {
  const graph = graphOf(history.present);
  const nodes = state.selected.nodes.filter((key) => graph.byKey.has(key));
  const edge = graph.edges.find((one) => one.key === state.selected.edge)?.key;
  return { ...state, history, selected: { nodes, edge } };
}

function selectedIn(state: EditorState, chosen: Partial<Selected>, panel?: Panel): EditorState {
  const selected = { ...NOTHING, ...chosen };
  const isNothing = selected.nodes.length === 0 && selected.edge === undefined;
  return { ...state, selected, panel: panel ?? (isNothing && state.panel === "form" ? null : state.panel) };
}
