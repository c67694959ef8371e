import { useCallback, useMemo, useReducer, useState } from "react";
import { useLocation } from "wouter";
import { invalidate } from "../../../api/queries";
import { useShortcuts } from "../../../shell/keys";
import { type Definition, EMPTY } from "../../../parts/graph/definition";
import { graphOf } from "../../../parts/graph/graph";
import { layoutOf, withMoved } from "../../../parts/graph/place";
import { text } from "../../../text";
import { toast } from "../../../ui/toast";
import type { Draft, Workflow } from "../api";
import { EditorDialogs, type Open } from "./editor-dialogs";
import { duplicateNodes, type Where } from "../model/commands";
import { problemsOf } from "../model/places";
import type { NodeTypes } from "../model/schema";
import { Canvas } from "./canvas";
import { useChecks } from "./checking";
import { type Editing, EditingProvider } from "./editing";
import { EditorHead } from "./editor-head";
import styles from "./editor.module.css";
import { EmptyCanvas } from "./empty-canvas";
import { whereFor } from "./keys";
import { Palette } from "./palette";
import { Panel } from "./panel";
import { usePreviewShown } from "./preview-shown";
import { useSample } from "./sample";
import { useSaving } from "./saving";
import { beginEditing, reduce } from "./state";

const words = text.workflows.editor;
const NO_ERRORS = [] as const;

export interface EditorProps {
  id: string;
  name: string;
  /** What is published; nothing yet of a workflow that is only a draft. */
  workflow: Workflow | null;
  draft: Draft | null;
  types: NodeTypes;
  canEdit: boolean;
}

/** The graph in the middle, types of node on its left, the form of what is selected on its right. */
export function Editor({ id, name, workflow, draft, types, canEdit }: EditorProps) {
  const [known] = useState(() => ({ definition: draft?.definition ?? workflow?.definition ?? EMPTY, revision: draft?.revision ?? 0, base: draft?.base ?? workflow?.version ?? 0 }));
  const [state, dispatch] = useReducer(reduce, known.definition, beginEditing);
  const [open, setOpen] = useState<Open>(null);
  const [, navigate] = useLocation();
  const definition = state.history.present;
  const graph = useMemo(() => graphOf(definition), [definition]);
  const layout = useMemo(() => layoutOf(graph), [graph]);
  const placed = useMemo(() => withMoved(layout, state.moved), [layout, state.moved]);
  const load = useCallback((next: Definition) => dispatch({ do: "load", definition: next }), []);
  const saving = useSaving(id, definition, known, load);
  const { checked, isChecking } = useChecks(definition, state.selected.nodes.length === 1 ? state.selected.nodes[0] : undefined);
  const problems = useMemo(() => problemsOf(graph, checked?.errors ?? NO_ERRORS), [graph, checked]);
  const sample = useSample(id);
  const calls = useCalls(dispatch, canEdit);
  const editing = useMemo(
    (): Editing => ({ id, canEdit, definition, graph, placed, types, selected: state.selected, panel: state.panel, problems, variables: checked?.variables ?? NO_ERRORS, sample, ...calls }),
    [id, canEdit, definition, graph, placed, types, state.selected, state.panel, problems, checked, sample, calls],
  );
  const add = useCallback((where: Where) => setOpen({ add: where }), []);
  useEditorKeys(editing, { onAdd: add, onOpen: setOpen, onSave: () => void saving.flush(), undo: () => dispatch({ do: "undo" }), redo: () => dispatch({ do: "redo" }), tidy: () => dispatch({ do: "tidy" }) });
  const [isPreviewShown] = usePreviewShown();
  const isPanelOpen = state.panel !== null && (state.panel !== "form" || state.selected.nodes.length > 0 || state.selected.edge !== undefined);
  const sends = graph.byKey.get(state.selected.nodes[0] ?? "")?.type ?? "";
  const isWide = state.panel === "form" && isPreviewShown && state.selected.nodes.length === 1 && types.nodes.some((one) => one.type === sends && one.sends);
  const redoByShift = (event: React.KeyboardEvent) => {
    if (!isRedo(event)) return;
    event.preventDefault();
    dispatch({ do: "redo" });
  };
  return (
    <EditingProvider value={editing}>
      {/* eslint-disable-next-line jsx-a11y/no-static-element-interactions -- a key of the whole editor */}
      <div className={styles.editor} onKeyDown={redoByShift}>
        <EditorHead name={name} workflow={workflow} saving={saving} history={state.history} hasMoved={state.moved.size > 0} isChecking={isChecking} onOpen={setOpen} dispatch={dispatch} />
        <div className={styles.body}>
          {canEdit && <Palette isNarrow={isPanelOpen} />}
          {graph.nodes.length === 0 ? <EmptyCanvas onAdd={() => add(null)} onPaste={() => setOpen("paste")} /> : <Canvas onAdd={add} />}
          {isPanelOpen && <Panel isWide={isWide} />}
        </div>
      </div>
      <EditorDialogs
        open={open}
        onOpen={setOpen}
        name={name}
        workflow={workflow}
        saving={saving}
        onLeave={() => navigate(workflow ? `/workflows/${id}` : "/workflows")}
        onPublished={() => {
          void invalidate("/v1/workflows");
          navigate(`/workflows/${id}`);
        }}
      />
    </EditingProvider>
  );
}

function isRedo(event: React.KeyboardEvent): boolean {
  return (event.ctrlKey || event.metaKey) && event.shiftKey && event.key.toLowerCase() === "z";
}

function useCalls(dispatch: React.Dispatch<Parameters<typeof reduce>[1]>, canEdit: boolean): Pick<Editing, "edit" | "select" | "show" | "move"> {
  return useMemo(
    () => ({
      edit: (edited, key, moved) => {
        if (canEdit) dispatch({ do: "edit", edited, at: Date.now(), ...(key === undefined ? {} : { key }), ...(moved ? { moved } : {}) });
      },
      select: (selected, panel) => dispatch({ do: "select", selected, ...(panel === undefined ? {} : { panel }) }),
      show: (panel) => dispatch({ do: "show", panel }),
      move: (moved) => dispatch({ do: "move", moved }),
    }),
    [dispatch, canEdit],
  );
}

interface KeyActs {
  onAdd: (where: Where) => void;
  onOpen: (open: Open) => void;
  onSave: () => void;
  undo: () => void;
  redo: () => void;
  tidy: () => void;
}

/** Keys that act wherever the focus is in the editor; those of the graph itself are in keys.ts. */
function useEditorKeys(editing: Editing, { onAdd, onOpen, onSave, undo, redo, tidy }: KeyActs): void {
  const { keys } = words;
  const mayEdit = [
    { keys: "n", label: keys.add, run: () => onAdd(whereFor(editing)) },
    { keys: "d", label: keys.duplicate, run: () => editing.edit(duplicateNodes(editing.definition, editing.selected.nodes)) },
    { keys: "a", label: keys.tidy, run: tidy },
    { keys: "Mod+z", label: keys.undo, run: undo },
    { keys: "Mod+y", label: keys.redo, run: redo },
    {
      keys: "Mod+s",
      label: keys.save,
      run: () => {
        onSave();
        toast(words.saved);
      },
    },
    { keys: "Mod+enter", label: keys.publish, run: () => onOpen("publish") },
  ];
  useShortcuts(editing.canEdit ? mayEdit : []);
}
