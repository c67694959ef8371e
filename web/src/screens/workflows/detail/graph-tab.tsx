import { useMemo, useState } from "react";
import { conditionInWords } from "../../../parts/graph/conditions";
import { edgesFrom, graphOf, type GraphNode } from "../../../parts/graph/graph";
import { GraphView } from "../../../parts/graph/graph-view";
import { text } from "../../../text";
import type { Workflow } from "../api";
import styles from "./detail.module.css";

const words = text.workflows.detail;

/** The published graph, and beside it what the chosen node says. */
export function GraphTab({ workflow }: { workflow: Workflow }) {
  const graph = useMemo(() => graphOf(workflow.definition), [workflow.definition]);
  const [selected, setSelected] = useState<string>();
  const node = selected === undefined ? undefined : graph.byKey.get(selected);
  return (
    <div className={styles.graph}>
      <GraphView definition={workflow.definition} label={words.graph} selected={selected} onSelect={setSelected} />
      <aside className={styles.side} aria-label={words.selectNode}>
        {node ? <NodeFacts node={node} ways={edgesFrom(graph, node.key).map((edge) => ({ to: edge.to, when: edge.condition ? conditionInWords(edge.condition) : node.type === "branch" ? text.graph.otherwise : "" }))} /> : <p className={styles.quiet}>{words.selectNode}</p>}
      </aside>
    </div>
  );
}

interface NodeFactsProps {
  node: GraphNode;
  ways: readonly { to: string; when: string }[];
}

/** Every field of a node as it is written. */
function NodeFacts({ node, ways }: NodeFactsProps) {
  const fields = Object.entries(node.fields).filter(([name]) => !["id", "name", "type"].includes(name));
  return (
    <>
      <h2>{node.id}</h2>
      <p className={styles.quiet}>{text.graph.kinds[node.type] ?? node.type}</p>
      <dl className={styles.facts}>
        {fields.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <pre>{typeof value === "string" ? value : JSON.stringify(value, null, 2)}</pre>
            </dd>
          </div>
        ))}
        {ways.length > 0 && (
          <div>
            <dt>{text.workflows.editor.waysOut}</dt>
            {ways.map((way) => (
              <dd key={way.to}>
                <b>{way.to}</b> <span className={styles.quiet}>{way.when}</span>
              </dd>
            ))}
          </div>
        )}
      </dl>
    </>
  );
}
