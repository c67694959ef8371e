/** The keys of the graph: everything that the mouse can do. */
import type { KeyboardEvent } from "react";
import { edgesFrom } from "../../../parts/graph/graph";
import { type Direction, DIRECTIONS, nextNode } from "../../../parts/graph/navigate";
import { deleteEdge, deleteNodes, duplicateNodes, type Edited, type Where } from "../model/commands";
import { type Editing, useEditing } from "./editing";

export const CONNECT_FIELD = "connect-to";
export const FORM_PANEL = "form-panel";

export function useCanvasKeys(onAdd: (where: Where) => void): (event: KeyboardEvent) => void {
  const editing = useEditing();
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const direction = DIRECTIONS[event.key];
    const act = direction ? () => go(editing, direction, event.shiftKey) : actOf(event.key, editing, onAdd);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
}

function isTyping(target: EventTarget): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

function actOf(key: string, editing: Editing, onAdd: (where: Where) => void): (() => void) | undefined {
  switch (key) {
    case "Enter":
      return hasSelection(editing) ? () => openForm(editing) : undefined;
    case "Escape":
      return () => (editing.panel ? editing.show(null) : editing.select({}));
    case "e":
      return () => selectEdge(editing);
  }
  if (!editing.canEdit) return undefined;
  switch (key) {
    case "n":
      return () => onAdd(whereFor(editing));
    case "Delete":
    case "Backspace":
      return () => removeSelected(editing);
    case "d":
      return () => editing.edit(duplicateNodes(editing.definition, editing.selected.nodes));
    case "c":
      return () => openForm(editing, CONNECT_FIELD);
  }
  return undefined;
}

function hasSelection({ selected }: Editing): boolean {
  return selected.nodes.length > 0 || selected.edge !== undefined;
}

/** Where `n` puts a node: after the selected one, into the selected edge, or after what was last. */
export function whereFor({ selected, graph }: Editing): Where {
  if (selected.edge !== undefined) return { edge: selected.edge };
  const [key] = selected.nodes;
  if (key !== undefined) return { after: key };
  const last = graph.nodes.findLast((node) => edgesFrom(graph, node.key).length === 0);
  return last ? { after: last.key } : null;
}

export function removeSelected({ selected, definition, edit }: Editing): void {
  const edited: Edited = selected.edge === undefined ? deleteNodes(definition, selected.nodes) : deleteEdge(definition, selected.edge);
  edit(edited);
}

/** Move along the edges; with Shift, take the next node into the selection. */
function go(editing: Editing, direction: Direction, isWider: boolean): void {
  const { graph, placed, selected, select } = editing;
  if (selected.edge !== undefined) {
    goFromEdge(editing, direction);
    return;
  }
  const next = nextNode(graph, placed, selected.nodes.at(-1), direction);
  if (next === undefined) return;
  select({ nodes: isWider ? [...selected.nodes.filter((key) => key !== next), next] : [next] });
}

function goFromEdge({ graph, selected, select }: Editing, direction: Direction): void {
  const edge = graph.edges.find((one) => one.key === selected.edge);
  if (!edge) return;
  if (direction === "up" || direction === "down") {
    select({ nodes: [direction === "up" ? edge.from : edge.to] });
    return;
  }
  const siblings = edgesFrom(graph, edge.from);
  const next = siblings[siblings.indexOf(edge) + (direction === "left" ? -1 : 1)];
  if (next) select({ edge: next.key });
}

/** The first edge out of the selected node, then the others. */
function selectEdge({ graph, selected, select }: Editing): void {
  const current = graph.edges.find((one) => one.key === selected.edge);
  const from = current?.from ?? selected.nodes[0];
  if (from === undefined) return;
  const out = edgesFrom(graph, from);
  const next = out[current ? (out.indexOf(current) + 1) % out.length : 0];
  if (next) select({ edge: next.key });
}

/** Show the form, and put the cursor into its first field or the one of this name. */
export function openForm({ show }: Pick<Editing, "show">, field?: string): void {
  show("form");
  setTimeout(() => {
    const panel = document.getElementById(FORM_PANEL);
    const wanted = field ? `[data-field="${field}"] input` : "[data-fields] :is(input, select, textarea, [contenteditable='true'])";
    (panel?.querySelector<HTMLElement>(wanted) ?? panel)?.focus();
  }, 60);
}
