import { ArrowDown, ArrowUp, CornerDownRight, X } from "lucide-react";
import { useState } from "react";
import { conditionInWords } from "../../../parts/graph/conditions";
import { edgesFrom, edgesTo, type GraphEdge, type GraphNode, refusalOf } from "../../../parts/graph/graph";
import { text } from "../../../text";
import { Combobox } from "../../../ui/combobox";
import { IconButton } from "../../../ui/icon-button";
import { connect, deleteEdge, moveEdge } from "../model/commands";
import { useEditing } from "./editing";
import styles from "./editor.module.css";
import { CONNECT_FIELD } from "./keys";

const words = text.workflows.editor;

/** What a node leads to and what leads to it: edges as a list, for whoever does not draw them. */
export function Connections({ node }: { node: GraphNode }) {
  const { graph, canEdit, select } = useEditing();
  if (graph.form === "steps") return null;
  const [out, into] = [edgesFrom(graph, node.key), edgesTo(graph, node.key)];
  return (
    <section className={styles.connections}>
      <h3>{words.waysOut}</h3>
      {out.length === 0 && <p className={styles.quiet}>{words.endsHere}</p>}
      <ul>
        {out.map((edge, place) => (
          <Way key={edge.key} edge={edge} place={place} count={out.length} isBranch={node.type === "branch"} />
        ))}
      </ul>
      {canEdit && <ConnectField node={node} />}
      {into.length > 0 && (
        <p className={styles.into}>
          {words.waysIn}{" "}
          {into.map((edge) => (
            <button key={edge.key} type="button" className={styles.link} onClick={() => select({ nodes: [edge.from] })}>
              {edge.from}
            </button>
          ))}
        </p>
      )}
    </section>
  );
}

interface WayProps {
  edge: GraphEdge;
  place: number;
  count: number;
  isBranch: boolean;
}

function Way({ edge, place, count, isBranch }: WayProps) {
  const { definition, canEdit, edit, select, selected } = useEditing();
  const stay = (done: ReturnType<typeof moveEdge>) => edit({ definition: done.definition, nodes: selected.nodes });
  return (
    <li className={styles.way}>
      <CornerDownRight size={14} aria-hidden />
      <button type="button" className={styles.link} onClick={() => select({ edge: edge.key })}>
        <b>{edge.to}</b>
        {isBranch && <span>{edge.condition ? conditionInWords(edge.condition) : text.graph.otherwise}</span>}
      </button>
      {canEdit && (
        <span className={styles.wayActions}>
          {isBranch && count > 1 && (
            <>
              <IconButton small label={words.sooner} disabled={place === 0} onClick={() => stay(moveEdge(definition, edge.key, -1))}>
                <ArrowUp size={13} aria-hidden />
              </IconButton>
              <IconButton small label={words.later} disabled={place === count - 1} onClick={() => stay(moveEdge(definition, edge.key, 1))}>
                <ArrowDown size={13} aria-hidden />
              </IconButton>
            </>
          )}
          <IconButton small label={`${words.remove}: ${edge.key}`} onClick={() => stay(deleteEdge(definition, edge.key))}>
            <X size={13} aria-hidden />
          </IconButton>
        </span>
      )}
    </li>
  );
}

function ConnectField({ node }: { node: GraphNode }) {
  const { graph, definition, edit, selected } = useEditing();
  const [typed, setTyped] = useState("");
  const possible = graph.nodes.filter((other) => !refusalOf(graph, node.key, other.key));
  const fitting = possible.filter((other) => other.id.toLowerCase().includes(typed.toLowerCase()));
  if (possible.length === 0) return null;
  return (
    <div data-field={CONNECT_FIELD}>
      <Combobox
        label={words.connect}
        placeholder={words.connectTo}
        query={typed}
        onSearch={setTyped}
        choices={fitting.slice(0, 50).map((other) => ({ value: other.key, label: other.id, about: text.graph.kinds[other.type] ?? other.type }))}
        onChoose={(choice) => {
          setTyped("");
          edit({ definition: connect(definition, node.key, choice.value).definition, nodes: selected.nodes });
        }}
      />
    </div>
  );
}
