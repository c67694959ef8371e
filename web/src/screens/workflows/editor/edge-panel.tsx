import { ArrowDown, ArrowUp, Trash2 } from "lucide-react";
import { edgesFrom, type GraphEdge, refusalOf } from "../../../parts/graph/graph";
import { text } from "../../../text";
import { Button } from "../../../ui/button";
import { Field } from "../../../ui/field";
import { IconButton } from "../../../ui/icon-button";
import { Select } from "../../../ui/select";
import { ConditionForm } from "../forms/condition-form";
import { deleteEdge, moveEdge, reconnect, setCondition } from "../model/commands";
import { problemsElsewhere } from "../model/places";
import { useEditing } from "./editing";
import styles from "./editor.module.css";

const words = text.workflows.editor;

/** An edge: where it leads, and out of a branch, when it is taken. */
export function EdgePanel({ edge }: { edge: GraphEdge }) {
  const { graph, problems } = useEditing();
  const isBranch = graph.byKey.get(edge.from)?.type === "branch";
  const elsewhere = problemsElsewhere(problems.edges.get(edge.key) ?? [], ["condition"]);
  return (
    <div className={styles.column}>
      <EdgeHead edge={edge} isBranch={isBranch} />
      <div className={styles.fields} data-fields>
        {elsewhere.length > 0 && (
          <ul className={styles.wrong} role="status">
            {elsewhere.map((one) => (
              <li key={one.message}>{one.message}</li>
            ))}
          </ul>
        )}
        {isBranch || edge.condition ? <Condition edge={edge} /> : <p className={styles.quiet}>{words.noCondition}</p>}
        <Ends edge={edge} />
      </div>
    </div>
  );
}

function EdgeHead({ edge, isBranch }: { edge: GraphEdge; isBranch: boolean }) {
  const { graph, definition, canEdit, edit } = useEditing();
  const siblings = edgesFrom(graph, edge.from);
  const place = siblings.indexOf(edge);
  return (
    <header className={styles.panelHead}>
      <div>
        <h2>{words.edgeOf(edge.from, edge.to)}</h2>
        {isBranch && siblings.length > 1 && <span className={styles.quiet}>{words.order(place + 1, siblings.length)}</span>}
      </div>
      {canEdit && graph.form === "graph" && (
        <span className={styles.panelActions}>
          {isBranch && siblings.length > 1 && (
            <>
              <IconButton small label={words.sooner} disabled={place === 0} onClick={() => edit(moveEdge(definition, edge.key, -1))}>
                <ArrowUp size={15} aria-hidden />
              </IconButton>
              <IconButton small label={words.later} disabled={place === siblings.length - 1} onClick={() => edit(moveEdge(definition, edge.key, 1))}>
                <ArrowDown size={15} aria-hidden />
              </IconButton>
            </>
          )}
          <IconButton small label={words.remove} onClick={() => edit(deleteEdge(definition, edge.key))}>
            <Trash2 size={15} aria-hidden />
          </IconButton>
        </span>
      )}
    </header>
  );
}

function Condition({ edge }: { edge: GraphEdge }) {
  const { definition, canEdit, edit } = useEditing();
  const conditionWords = text.workflows.condition;
  if (!edge.condition) {
    return (
      <>
        <p>{conditionWords.otherwise}</p>
        {canEdit && (
          <Button small onClick={() => edit(setCondition(definition, edge.key, { path: "", op: "equals", value: "" }))}>
            {conditionWords.add}
          </Button>
        )}
      </>
    );
  }
  return (
    <>
      <ConditionForm condition={edge.condition} onChange={(condition) => edit(setCondition(definition, edge.key, condition), `${edge.key}.condition`)} />
      {canEdit && (
        <Button kind="quiet" small onClick={() => edit(setCondition(definition, edge.key, undefined))}>
          {conditionWords.makeDefault}
        </Button>
      )}
    </>
  );
}

/** Both ends, to be led elsewhere without drawing. */
function Ends({ edge }: { edge: GraphEdge }) {
  const { graph, definition, canEdit, edit } = useEditing();
  if (graph.form === "steps") return null;
  const fits = (from: string, to: string) => !refusalOf(graph, from, to, edge.key);
  const named = (keys: readonly string[]) => keys.map((key) => ({ value: key, label: key }));
  const all = graph.nodes.map((node) => node.key);
  return (
    <div className={styles.ends}>
      <Field label={words.from}>
        <Select value={edge.from} disabled={!canEdit} options={named(all.filter((key) => key === edge.from || fits(key, edge.to)))} onChange={(from) => edit(reconnect(definition, edge.key, from, edge.to))} />
      </Field>
      <Field label={words.to}>
        <Select value={edge.to} disabled={!canEdit} options={named(all.filter((key) => key === edge.to || fits(edge.from, key)))} onChange={(to) => edit(reconnect(definition, edge.key, edge.from, to))} />
      </Field>
    </div>
  );
}
