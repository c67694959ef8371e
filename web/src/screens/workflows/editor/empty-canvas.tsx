import { useEffect, useRef } from "react";
import { text } from "../../../text";
import { Button } from "../../../ui/button";
import { EmptyState } from "../../../ui/empty-state";
import { useEditing } from "./editing";
import styles from "./editor.module.css";

const words = text.workflows.editor;

/** Stands where the graph will be. */
export function EmptyCanvas({ onAdd, onPaste }: { onAdd: () => void; onPaste: () => void }) {
  const { canEdit } = useEditing();
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => first.current?.focus(), []);
  const actions = canEdit && (
    <>
      <Button ref={first} kind="primary" onClick={onAdd}>
        {words.add}
      </Button>
      <Button onClick={onPaste}>{words.pasteIn}</Button>
    </>
  );
  return (
    <div className={styles.emptyCanvas}>
      <EmptyState title={words.emptyTitle} about={words.emptyAbout} action={actions} />
    </div>
  );
}
