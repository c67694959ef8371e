import { Background, BackgroundVariant, Controls, MiniMap, ReactFlow, ReactFlowProvider, useReactFlow, useStore } from "@xyflow/react";
import "./xyflow.css";
import { useEffect, useMemo, useState } from "react";
import { text } from "../../text";
import type { Definition } from "./definition";
import { EdgeLine, type LineEdge } from "./edge-line";
import { cardsOf, linesOf, type Marks } from "./elements";
import { type Graph, graphOf } from "./graph";
import styles from "./graph.module.css";
import { type CardNode, NodeCard } from "./node-card";
import { DIRECTIONS, nextNode } from "./navigate";
import { placed } from "./place";

export const NODE_TYPES = { card: NodeCard };
export const EDGE_TYPES = { line: EdgeLine };
export const FIT = { padding: 0.15, maxZoom: 1, minZoom: 0.4 };
const MANY = 30;

interface GraphViewProps {
  definition: Definition;
  /** What it shows: its accessible name. */
  label: string;
  marks?: Marks;
  selected?: string | undefined;
  onSelect?: (key: string | undefined) => void;
}

/** A workflow as a graph to look at: arrow keys move along its edges. */
export function GraphView(props: GraphViewProps) {
  return (
    <ReactFlowProvider>
      <Viewed {...props} />
    </ReactFlowProvider>
  );
}

const NO_MARKS: Marks = {};

function Viewed({ definition, label, marks = NO_MARKS, selected, onSelect }: GraphViewProps) {
  const graph = useMemo(() => graphOf(definition), [definition]);
  const layout = useMemo(() => placed(graph), [graph]);
  const [own, setOwn] = useState<string>();
  const current = onSelect ? selected : own;
  const select = onSelect ?? setOwn;
  const nodes = useMemo(() => cardsOf(graph, layout, marks).map((node) => ({ ...node, selected: node.id === current })), [graph, layout, marks, current]);
  const edges = useMemo(() => linesOf(graph, layout, marks), [graph, layout, marks]);
  useFocusedNode(current);
  const onKeyDown = (event: React.KeyboardEvent) => {
    const direction = DIRECTIONS[event.key];
    if (!direction || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    select(nextNode(graph, layout, current, direction));
  };
  return (
    <div data-graph tabIndex={-1} className={styles.canvas} onKeyDownCapture={onKeyDown}>
      <ReactFlow<CardNode, LineEdge>
        aria-label={label}
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesReconnectable={false}
        deleteKeyCode={null}
        onNodeClick={(_, node) => select(node.id)}
        onPaneClick={() => select(undefined)}
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
  );
}

/** Points, buttons for the zoom, and a map where the graph is large. */
export function GraphFurniture({ graph }: { graph: Graph }) {
  return (
    <>
      <Background variant={BackgroundVariant.Dots} gap={20} size={1} className={styles.dots} />
      <Controls showInteractive={false} fitViewOptions={FIT} className={styles.controls} aria-label={text.graph.zoom} />
      {graph.nodes.length > MANY && <MiniMap pannable zoomable className={styles.map} ariaLabel={text.graph.map} nodeBorderRadius={8} />}
    </>
  );
}

/** Have the selected node focused and in sight. */
export function useFocusedNode(key: string | undefined): void {
  const { getNode, setCenter, getZoom } = useReactFlow();
  const width = useStore((store) => store.width); // a panel that opens beside the graph may cover the node
  useEffect(() => {
    const canvas = document.querySelector<HTMLElement>("[data-graph]");
    const node = key === undefined ? undefined : getNode(key);
    if (key === undefined || !canvas || !node) return;
    const element = canvas.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(key)}"]`);
    if (canvas.contains(document.activeElement)) element?.focus({ preventScroll: true });
    if (element && isInside(element.getBoundingClientRect(), canvas.getBoundingClientRect())) return;
    void setCenter(node.position.x + (node.width ?? 0) / 2, node.position.y + (node.height ?? 0) / 2, { zoom: getZoom(), duration: 0 });
  }, [key, width, getNode, setCenter, getZoom]);
}

function isInside(inner: DOMRect, outer: DOMRect): boolean {
  return inner.left >= outer.left && inner.right <= outer.right && inner.top >= outer.top && inner.bottom <= outer.bottom;
}
