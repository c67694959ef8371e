import { type Connection, type EdgeChange, type NodeChange, type NodePositionChange, ReactFlow, useReactFlow } from "@xyflow/react";
import { type DragEvent, useEffect, useMemo, useRef } from "react";
import { GraphContext } from "../../../parts/graph/context";
import { cardsOf, linesOf, type Marking, type Marks } from "../../../parts/graph/elements";
import type { LineEdge } from "../../../parts/graph/edge-line";
import { refusalOf } from "../../../parts/graph/graph";
import { EDGE_TYPES, FIT, GraphFurniture, NODE_TYPES, useFocusedNode } from "../../../parts/graph/graph-view";
import graphStyles from "../../../parts/graph/graph.module.css";
import type { CardNode } from "../../../parts/graph/node-card";
import { NODE_HEIGHT, NODE_WIDTH } from "../../../parts/graph/place";
import { text } from "../../../text";
import { cx } from "../../../ui/cx";
import { toast } from "../../../ui/toast";
import { addNode, connect, reconnect, type Where } from "../model/commands";
import type { PartProblem } from "../model/places";
import { useEditing } from "./editing";
import { useCanvasKeys } from "./keys";
import { DRAGGED_TYPE } from "./palette";

const words = text.workflows.editor;

interface CanvasProps {
  /** Ask what to add there. */
  onAdd: (where: Where) => void;
}

/** The graph where it is changed: by mouse, and by keys alone. */
export function Canvas({ onAdd }: CanvasProps) {
  const editing = useEditing();
  const { graph, placed, selected, canEdit, edit } = editing;
  const { nodes, edges } = useElements();
  const { onNodesChange, onEdgesChange } = useChanges();
  const drop = useDrop();
  const onKeyDown = useCanvasKeys(onAdd);
  useFocusedNode(selected.nodes.length === 1 ? selected.nodes[0] : undefined);
  const calls = useMemo(() => ({ canEdit, onInsert: (edge: string) => onAdd({ edge }) }), [canEdit, onAdd]);
  const tryConnect = ({ source, target }: Connection) => {
    const refusal = refusalOf(graph, source, target);
    if (refusal) toast(words.refused[refusal] ?? refusal, { bad: true });
    else edit(connect(editing.definition, source, target));
  };
  return (
    <GraphContext value={calls}>
      <div data-graph tabIndex={-1} className={cx(graphStyles.canvas, canEdit && graphStyles.editing)} onKeyDownCapture={onKeyDown} {...drop}>
        <ReactFlow<CardNode, LineEdge>
          aria-label={words.canvas}
          nodes={nodes}
          edges={edges}
          nodeTypes={NODE_TYPES}
          edgeTypes={EDGE_TYPES}
          onNodesChange={onNodesChange}
          onEdgesChange={onEdgesChange}
          onNodeClick={(event) => !(event.shiftKey || event.ctrlKey || event.metaKey) && editing.show("form")}
          onEdgeClick={() => editing.show("form")}
          onConnect={tryConnect}
          onReconnect={(old, { source, target }) => edit(reconnect(editing.definition, old.id, source, target))}
          isValidConnection={({ source, target }) => source !== target}
          nodesDraggable={canEdit}
          nodesConnectable={canEdit && graph.form === "graph"}
          edgesReconnectable={canEdit && graph.form === "graph"}
          elevateNodesOnSelect={false}
          disableKeyboardA11y
          deleteKeyCode={null}
          selectionKeyCode="Shift"
          multiSelectionKeyCode={["Control", "Meta", "Shift"]}
          nodeDragThreshold={4}
          onlyRenderVisibleElements={graph.nodes.length > 100}
          fitView
          fitViewOptions={FIT}
          minZoom={0.1}
          maxZoom={1.5}
          proOptions={{ hideAttribution: true }}
        >
          <GraphFurniture graph={graph} />
        </ReactFlow>
      </div>
      <span className="visually-hidden" role="status">
        {selected.nodes.length === 1 ? placed.places.has(selected.nodes[0] ?? "") && selected.nodes[0] : ""}
      </span>
    </GraphContext>
  );
}

function useElements(): { nodes: CardNode[]; edges: LineEdge[] } {
  const { graph, placed, selected, problems } = useEditing();
  const marks = useMemo((): Marks => ({ nodes: counted(problems.nodes), edges: counted(problems.edges) }), [problems]);
  const nodes = useMemo(() => {
    const chosen = new Set(selected.nodes);
    const reachable = chosen.size > 0 ? chosen : new Set([graph.byKey.has(graph.entry) ? graph.entry : graph.nodes[0]?.key]);
    return cardsOf(graph, placed, marks).map((node) => ({ ...node, selected: chosen.has(node.id), focusable: reachable.has(node.id) }));
  }, [graph, placed, marks, selected.nodes]);
  const edges = useMemo(() => linesOf(graph, placed, marks).map((edge) => ({ ...edge, selected: edge.id === selected.edge })), [graph, placed, marks, selected.edge]);
  return { nodes, edges };
}

function counted(problems: ReadonlyMap<string, readonly PartProblem[]>): Map<string, Marking> {
  return new Map([...problems].map(([key, list]) => [key, { problems: list.length }]));
}

/** What React Flow wants to change about its elements: what is selected, and where a node is dragged. */
function useChanges() {
  const { selected, select, move } = useEditing();
  const chosen = useRef(selected); // nodes and edges tell their changes one after the other, before anything is drawn
  useEffect(() => {
    chosen.current = selected;
  });
  const onNodesChange = (changes: NodeChange<CardNode>[]) => {
    const moved = changes.filter((one): one is NodePositionChange => one.type === "position" && one.position !== undefined);
    if (moved.length) move(moved.map(({ id, position }) => [id, position ?? { x: 0, y: 0 }]));
    const now = new Set(chosen.current.nodes);
    const picked = changes.filter((one) => one.type === "select");
    for (const one of picked) if (one.selected) now.add(one.id); else now.delete(one.id);
    if (!picked.length) return;
    chosen.current = { nodes: [...now], edge: now.size ? undefined : chosen.current.edge };
    select(chosen.current);
  };
  const onEdgesChange = (changes: EdgeChange<LineEdge>[]) => {
    const picked = changes.filter((one) => one.type === "select");
    const edge = picked.find((one) => one.selected)?.id;
    if (!picked.length || (edge === undefined && !picked.some((one) => one.id === chosen.current.edge))) return;
    chosen.current = { nodes: edge === undefined ? chosen.current.nodes : [], edge };
    select(chosen.current);
  };
  return { onNodesChange, onEdgesChange };
}

/** A type dragged from the palette: into the edge or after the node it is dropped on, else by itself where it is dropped. */
function useDrop() {
  const { definition, edit, show } = useEditing();
  const { screenToFlowPosition } = useReactFlow();
  const onDrop = (event: DragEvent) => {
    const type = event.dataTransfer.getData(DRAGGED_TYPE);
    if (!type) return;
    event.preventDefault();
    const where = whereAt(event.clientX, event.clientY);
    const edited = addNode(definition, type, where);
    const at = screenToFlowPosition({ x: event.clientX, y: event.clientY });
    const [key] = edited.nodes ?? [];
    const isLoose = where === null && key !== undefined;
    edit(edited, undefined, isLoose ? [key, { x: at.x - NODE_WIDTH / 2, y: at.y - NODE_HEIGHT / 2 }] : undefined);
    show("form");
  };
  const onDragOver = (event: DragEvent) => {
    if (!event.dataTransfer.types.includes(DRAGGED_TYPE)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
  };
  return { onDrop, onDragOver };
}

function whereAt(x: number, y: number): Where {
  const found = document.elementsFromPoint(x, y);
  const idOf = (kind: string) => found.map((one) => one.closest<HTMLElement>(`.react-flow__${kind}`)?.dataset["id"]).find((id) => id !== undefined);
  const node = idOf("node");
  if (node !== undefined) return { after: node };
  const edge = idOf("edge");
  return edge === undefined ? null : { edge };
}
