import { Handle, type Node, type NodeProps, Position } from "@xyflow/react";
import { TriangleAlert } from "lucide-react";
import { type ReactNode, use } from "react";
import { text } from "../../text";
import { cx } from "../../ui/cx";
import { GraphContext } from "./context";
import type { GraphNode } from "./graph";
import styles from "./graph.module.css";
import { KindIcon, kindOf } from "./kinds";
import { recipientOf, summaryOf } from "./summary";

export interface CardData extends Record<string, unknown> {
  node: GraphNode;
  isEntry: boolean;
  /** How many problems there are at it. */
  problems: number;
  /** What the screen says about it: its state in an execution, what changed. */
  note?: ReactNode;
  /** A colour of its edge, by a name of ui/status. */
  tone?: string;
  isDim?: boolean;
}

export type CardNode = Node<CardData, "card">;

/** A node: what it is, its id, and in a line what it does. */
export function NodeCard({ data, selected }: NodeProps<CardNode>) {
  const { node, isEntry, problems, note, tone, isDim } = data;
  const { canEdit } = use(GraphContext);
  const summary = summaryOf(node);
  return (
    <div className={cx(styles.card, styles[kindOf(node.type).family], selected && styles.selected, problems > 0 && styles.wrong, tone && styles[tone], isDim && styles.dim)}>
      {isEntry ? <span className={styles.entry}>{text.graph.entry}</span> : null}
      <Handle type="target" position={Position.Top} className={cx(styles.handle, isEntry && styles.hidden)} isConnectable={canEdit} />
      <span className={styles.icon}>
        <KindIcon type={node.type} />
      </span>
      <span className={styles.words}>
        <span className={styles.id}>
          <b>{node.id || text.graph.noId}</b>
          <span className={styles.to}>{recipientOf(node)}</span>
        </span>
        <span className={cx(styles.summary, !summary && styles.blank)}>{summary || text.graph.kinds[node.type] || node.type}</span>
      </span>
      {note}
      {problems > 0 && (
        <span className={styles.problems} role="img" aria-label={text.graph.problems(problems)}>
          <TriangleAlert size={14} aria-hidden />
        </span>
      )}
      <Handle type="source" position={Position.Bottom} className={styles.handle} isConnectable={canEdit} />
    </div>
  );
}
