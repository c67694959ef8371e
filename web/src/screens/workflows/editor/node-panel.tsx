import { ArrowDown, ArrowUp, Copy, Eye, EyeOff, Flag, Trash2 } from "lucide-react";
import { useMemo, useState } from "react";
import type { JsonObject } from "../../../parts/graph/definition";
import type { GraphNode } from "../../../parts/graph/graph";
import { KindIcon, kindOf } from "../../../parts/graph/kinds";
import { text } from "../../../text";
import { Button } from "../../../ui/button";
import { cx } from "../../../ui/cx";
import { Field } from "../../../ui/field";
import { IconButton } from "../../../ui/icon-button";
import { TextInput } from "../../../ui/text-input";
import { SchemaForm } from "../forms/schema-form";
import { useProblemAt } from "../forms/part-form";
import { deleteNodes, duplicateNodes, moveStep, renameNode, setEntry, updateNode } from "../model/commands";
import { problemsElsewhere } from "../model/places";
import { fieldsOf, type Schema } from "../model/schema";
import { PreviewPane } from "../preview/preview-pane";
import { Connections } from "./connections";
import { useEditing } from "./editing";
import styles from "./editor.module.css";
import { usePreviewShown } from "./preview-shown";

const words = text.workflows.editor;
const formWords = text.workflows.form;

/** The form of one node, what it leads to, and beside it what it would send. */
export function NodePanel({ node }: { node: GraphNode }) {
  const { types, graph } = useEditing();
  const form = types.nodes.find((one) => one.type === node.type);
  const [isShown] = usePreviewShown();
  const schema = graph.form === "steps" ? types.workflow.step : form?.schema;
  return (
    <div className={styles.columns}>
      <div className={styles.column}>
        <Head node={node} canPreview={form?.sends ?? false} />
        <div className={styles.fields} data-fields>
          <Elsewhere node={node} schema={schema} />
          {schema && <NodeForm node={node} schema={schema} />}
        </div>
        <Connections node={node} />
        <IdField key={node.id} node={node} />
      </div>
      {form?.sends && isShown && <PreviewPane node={node} />}
    </div>
  );
}

function Head({ node, canPreview }: { node: GraphNode; canPreview: boolean }) {
  const { definition, graph, canEdit, edit } = useEditing();
  const [isShown, setShown] = usePreviewShown();
  const isStep = graph.form === "steps";
  return (
    <header className={styles.panelHead}>
      <span className={cx(styles.panelIcon, styles[kindOf(node.type).family])}>
        <KindIcon type={node.type} />
      </span>
      <div>
        <h2>{text.graph.kinds[node.type] ?? node.type}</h2>
        <code>{node.id}</code>
      </div>
      <span className={styles.panelActions}>
        {canPreview && (
          <IconButton small label={isShown ? words.hidePreview : words.preview} aria-pressed={isShown} onClick={() => setShown(!isShown)}>
            {isShown ? <EyeOff size={15} aria-hidden /> : <Eye size={15} aria-hidden />}
          </IconButton>
        )}
        {canEdit && isStep && (
          <>
            <IconButton small label={words.moveUp} onClick={() => edit(moveStep(definition, node.key, -1))}>
              <ArrowUp size={15} aria-hidden />
            </IconButton>
            <IconButton small label={words.moveDown} onClick={() => edit(moveStep(definition, node.key, 1))}>
              <ArrowDown size={15} aria-hidden />
            </IconButton>
          </>
        )}
        {canEdit && !isStep && graph.entry !== node.key && (
          <IconButton small label={words.makeEntry} onClick={() => edit(setEntry(definition, node.key))}>
            <Flag size={15} aria-hidden />
          </IconButton>
        )}
        {canEdit && (
          <>
            <IconButton small label={words.duplicate} onClick={() => edit(duplicateNodes(definition, [node.key]))}>
              <Copy size={15} aria-hidden />
            </IconButton>
            <IconButton small label={words.remove} onClick={() => edit(deleteNodes(definition, [node.key]))}>
              <Trash2 size={15} aria-hidden />
            </IconButton>
          </>
        )}
      </span>
    </header>
  );
}

function NodeForm({ node, schema }: { node: GraphNode; schema: Schema }) {
  const { definition, edit, types } = useEditing();
  const channel = types.channels.find((one) => one.channel === node.type);
  const hints = useMemo(() => (channel?.reachesContacts ? { to: formWords.ofContact } : {}), [channel]);
  const change = (fields: JsonObject, field: string) => edit(updateNode(definition, node.key, fields), `${node.key}.${field}`);
  return <SchemaForm schema={schema} value={node.fields} onChange={change} hints={hints as Record<string, string>} />;
}

/** What is wrong with the node as a whole, or with a field that its form does not have. */
function Elsewhere({ node, schema }: { node: GraphNode; schema: Schema | undefined }) {
  const { problems } = useEditing();
  const shown = ["id", "name", ...(schema ? fieldsOf(schema).map((field) => field.name) : [])];
  const found = problemsElsewhere(problems.nodes.get(node.key) ?? [], shown);
  if (found.length === 0) return null;
  return (
    <ul className={styles.wrong} role="status">
      {found.map((one) => (
        <li key={`${one.field}${one.message}`}>
          {one.field && <code>{one.field}</code>} {one.message}
        </li>
      ))}
    </ul>
  );
}

/** The id, taken when it is left: edges and templates follow. */
function IdField({ node }: { node: GraphNode }) {
  const { definition, graph, canEdit, edit } = useEditing();
  const [typed, setTyped] = useState(node.id);
  const { words: problem } = useProblemAt(graph.form === "steps" ? "name" : "id");
  const isTaken = typed !== node.id && graph.nodes.some((other) => other.id === typed);
  const take = () => {
    const id = typed.trim();
    if (id === node.id || !id || isTaken) setTyped(node.id);
    else edit(renameNode(definition, node.key, id));
  };
  return (
    <Field label={formWords.id} hint={formWords.idHint} problem={isTaken ? formWords.idTaken : problem}>
      <TextInput mono value={typed} onChange={setTyped} onBlur={take} onKeyDown={(event) => event.key === "Enter" && take()} readOnly={!canEdit} spellCheck={false} />
    </Field>
  );
}

/** What can be done with several nodes at once. */
export function SeveralPanel({ keys }: { keys: readonly string[] }) {
  const { definition, canEdit, edit } = useEditing();
  return (
    <div className={styles.column}>
      <header className={styles.panelHead}>
        <div>
          <h2>{words.severalSelected(keys.length)}</h2>
        </div>
      </header>
      <ul className={styles.keys}>
        {keys.map((key) => (
          <li key={key}>
            <code>{key}</code>
          </li>
        ))}
      </ul>
      {canEdit && (
        <div className={styles.buttons}>
          <Button small icon={<Copy size={14} aria-hidden />} onClick={() => edit(duplicateNodes(definition, keys))}>
            {words.duplicate}
          </Button>
          <Button small icon={<Trash2 size={14} aria-hidden />} onClick={() => edit(deleteNodes(definition, keys))}>
            {words.remove}
          </Button>
        </div>
      )}
    </div>
  );
}
