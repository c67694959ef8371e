import { type KeyboardEvent, useMemo, useState } from "react";
import { grouped } from "../../../parts/graph/grouped";
import { type Family, KindIcon, kindOf } from "../../../parts/graph/kinds";
import { text } from "../../../text";
import { cx } from "../../../ui/cx";
import { Dialog } from "../../../ui/dialog";
import { Tooltip } from "../../../ui/tooltip";
import { addNode, type Where } from "../model/commands";
import { useEditing } from "./editing";
import styles from "./editor.module.css";
import { openForm, whereFor } from "./keys";

export const DRAGGED_TYPE = "application/x-tidings-node";
const words = text.workflows.editor;
const ORDER: readonly Family[] = ["send", "call", "wait", "branch", "unknown"];
const COMMON = ["email", "sms", "push", "whatsapp", "chat", "voice", "social", "function", "webhook", "delay", "branch"];

/** The types of node in the order in which they are used most. */
function useKinds(): readonly (readonly [Family, readonly string[]])[] {
  const { types, graph } = useEditing();
  return useMemo(() => {
    const known = graph.form === "steps" ? ["function"] : types.nodes.map((one) => one.type);
    const place = (type: string) => (COMMON.includes(type) ? COMMON.indexOf(type) : COMMON.length);
    const groups = grouped([...known].sort((one, other) => place(one) - place(other)), (type) => kindOf(type).family);
    return ORDER.filter((family) => groups.has(family)).map((family) => [family, groups.get(family) ?? []]);
  }, [types, graph.form]);
}

const nameOf = (type: string) => text.graph.kinds[type] ?? type;

/** The types of node beside the graph: drag one there, or click to add it after what is selected. */
export function Palette({ isNarrow }: { isNarrow: boolean }) {
  const editing = useEditing();
  const kinds = useKinds();
  const add = (type: string) => {
    editing.edit(addNode(editing.definition, type, whereFor(editing)));
    openForm(editing);
  };
  return (
    <div role="toolbar" aria-label={words.add} aria-orientation="vertical" className={cx(styles.palette, isNarrow && styles.narrow)}>
      {kinds.map(([family, types]) => (
        <div key={family} className={styles.kinds}>
          {!isNarrow && <h2>{words.groups[family]}</h2>}
          {types.map((type) => (
            <Kind key={type} type={type} isNarrow={isNarrow} onAdd={() => add(type)} />
          ))}
        </div>
      ))}
    </div>
  );
}

function Kind({ type, isNarrow, onAdd }: { type: string; isNarrow: boolean; onAdd: () => void }) {
  const button = (
    <button
      type="button"
      draggable
      className={cx(styles.kind, styles[kindOf(type).family])}
      aria-label={nameOf(type)}
      onClick={onAdd}
      onDragStart={(event) => {
        event.dataTransfer.setData(DRAGGED_TYPE, type);
        event.dataTransfer.effectAllowed = "copy";
      }}
    >
      <KindIcon type={type} size={15} />
      {!isNarrow && nameOf(type)}
    </button>
  );
  return isNarrow ? (
    <Tooltip text={nameOf(type)} side="right">
      {button}
    </Tooltip>
  ) : (
    button
  );
}

interface AddDialogProps {
  where: Where;
  onClose: () => void;
}

/** Asks for the type of a new node: a few letters and Enter. */
export function AddDialog({ where, onClose }: AddDialogProps) {
  const editing = useEditing();
  const kinds = useKinds();
  const [typed, setTyped] = useState("");
  const [active, setActive] = useState(0);
  const about = useMemo(() => new Map(editing.types.nodes.map((one) => [one.type, one.about])), [editing.types]);
  const fitting = kinds.flatMap(([, types]) => types).filter((type) => `${type} ${nameOf(type)}`.toLowerCase().includes(typed.trim().toLowerCase()));
  const at = Math.min(active, fitting.length - 1);
  const add = (type: string | undefined) => {
    if (type === undefined) return;
    onClose();
    editing.edit(addNode(editing.definition, type, where));
    openForm(editing);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (event.key === "Enter") add(fitting[at]);
    if (!step && event.key !== "Enter") return;
    event.preventDefault();
    if (step && fitting.length) setActive((at + step + fitting.length) % fitting.length);
  };
  return (
    <Dialog open onClose={onClose} title={titleFor(where)}>
      <input
        className={styles.addField}
        role="combobox"
        aria-expanded
        aria-controls="add-kinds"
        aria-label={words.addSearch}
        aria-activedescendant={fitting[at] && `add-${fitting[at]}`}
        placeholder={words.addSearch}
        value={typed}
        spellCheck={false}
        autoFocus
        onKeyDown={onKeyDown}
        onChange={(event) => {
          setTyped(event.target.value);
          setActive(0);
        }}
      />
      <div id="add-kinds" role="listbox" aria-label={words.add} className={styles.addKinds}>
        {fitting.map((type, index) => (
          // eslint-disable-next-line jsx-a11y/click-events-have-key-events -- the field has the keys
          <div key={type} id={`add-${type}`} role="option" tabIndex={-1} aria-selected={index === at} className={cx(styles.addKind, styles[kindOf(type).family], index === at && styles.current)} onMouseMove={() => setActive(index)} onClick={() => add(type)}>
            <KindIcon type={type} />
            <b>{nameOf(type)}</b>
            <span>{about.get(type)}</span>
          </div>
        ))}
        {fitting.length === 0 && (
          <div role="option" tabIndex={-1} aria-selected={false} aria-disabled className={styles.addNone}>
            {words.noKind}
          </div>
        )}
      </div>
    </Dialog>
  );
}

function titleFor(where: Where): string {
  if (where === null) return words.add;
  return "after" in where ? words.addAfter(where.after) : words.addInto(where.edge);
}
