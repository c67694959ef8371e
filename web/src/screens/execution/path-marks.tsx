/** The path of an execution as marks on its graph. */
import type { EdgeState, ExecutionPath, NodeState, PathNode } from "@tidings/client";
import { Check, CircleDashed, Hourglass, SkipForward, X } from "lucide-react";
import type { Definition } from "../../parts/graph/definition";
import type { Marking, Marks } from "../../parts/graph/elements";
import { text } from "../../text";
import { cx } from "../../ui/cx";
import type { Tone } from "../../ui/status";
import styles from "./execution.module.css";
import { toneOfWaiting } from "./timeline";

const TONES: Readonly<Record<NodeState, Tone>> = { waiting: "info", done: "good", failed: "bad", skipped: "quiet", notReached: "quiet" };
const ICONS: Readonly<Record<NodeState, typeof Check>> = { waiting: Hourglass, done: Check, failed: X, skipped: SkipForward, notReached: CircleDashed };
const EDGES: Readonly<Record<EdgeState, Marking>> = { taken: { tone: "good" }, dead: { isDim: true }, open: {} };

export function toneOfNode(node: Pick<PathNode, "state" | "why">): Tone {
  return node.state === "waiting" ? toneOfWaiting(node) : TONES[node.state];
}

export function marksOf(path: ExecutionPath): Marks {
  const nodes = new Map(path.nodes.map((node) => [node.id, markingOf(node)]));
  const edges = new Map(path.edges.map((edge) => [`${edge.from} → ${edge.to}`, EDGES[edge.state]]));
  return { nodes, edges };
}

function markingOf(node: PathNode): Marking {
  const isDim = node.state === "notReached" || node.state === "skipped";
  return { isDim, ...(isDim ? {} : { tone: toneOfNode(node) }), note: <NodeNote node={node} /> };
}

function NodeNote({ node }: { node: PathNode }) {
  const Icon = ICONS[node.state];
  const label = text.executions.nodeStates[node.state];
  return (
    <span className={cx(styles.mark, styles[toneOfNode(node)])} role="img" aria-label={label} title={node.why ?? label}>
      <Icon size={14} aria-hidden />
      {node.attempts > 1 && <span>×{node.attempts}</span>}
    </span>
  );
}

/** The graph as the path has it, for a definition that cannot be read: ids and types without their fields. */
export function definitionOf(path: ExecutionPath): Definition {
  return {
    entryNodeId: path.entry,
    nodes: path.nodes.filter((node) => node.id !== "onError").map(({ id, type }) => ({ id, type })),
    edges: path.edges.map(({ from, to }) => ({ from, to })),
  };
}
