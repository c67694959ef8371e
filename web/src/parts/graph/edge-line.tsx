import { BaseEdge, type Edge, EdgeLabelRenderer, type EdgeProps } from "@xyflow/react";
import { Plus } from "lucide-react";
import { use } from "react";
import { text } from "../../text";
import { cx } from "../../ui/cx";
import { GraphContext } from "./context";
import { edgePath } from "./edge-path";
import styles from "./graph.module.css";
import type { Point } from "./layout";

export interface LineData extends Record<string, unknown> {
  bends: readonly Point[];
  /** Its condition in words; `else` of a branch's default. */
  words?: string | undefined;
  isElse?: boolean;
  problems: number;
  /** Taken by an execution, or changed between versions. */
  tone?: string;
  isDim?: boolean;
}

export type LineEdge = Edge<LineData, "line">;

/** An edge with its condition, and a button that puts a node into it. */
export function EdgeLine({ id, sourceX, sourceY, targetX, targetY, data, selected, markerEnd }: EdgeProps<LineEdge>) {
  const { canEdit, onInsert } = use(GraphContext);
  const { path, label } = edgePath({ x: sourceX, y: sourceY }, { x: targetX, y: targetY }, data?.bends);
  const isWrong = (data?.problems ?? 0) > 0;
  const at = `translate(-50%, -50%) translate(${label.x}px, ${label.y}px)`;
  const look = cx(styles.line, selected && styles.lineSelected, isWrong && styles.lineWrong, data?.tone && styles[`line-${data.tone}`], data?.isDim && styles.dim);
  const canInsert = canEdit && onInsert;
  return (
    <>
      <BaseEdge path={path} className={look} interactionWidth={20} {...(markerEnd ? { markerEnd } : {})} />
      {(data?.words || canInsert) && (
        <EdgeLabelRenderer>
          <div className={cx(styles.label, Boolean(data?.words) && styles.worded, selected && styles.labelSelected, isWrong && styles.labelWrong)} style={{ transform: at }}>
            {data?.words && <span className={cx(styles.condition, data.isElse && styles.isElse)}>{data.words}</span>}
            {canInsert && (
              <button type="button" tabIndex={-1} className={cx(styles.insert, "nodrag nopan")} aria-label={text.graph.insert} title={text.graph.insert} onClick={(event) => onInsert(id, { x: event.clientX, y: event.clientY })}>
                <Plus size={12} aria-hidden />
              </button>
            )}
          </div>
        </EdgeLabelRenderer>
      )}
    </>
  );
}
