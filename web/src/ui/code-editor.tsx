import { lazy, Suspense } from "react";
import type { CodeEditorProps } from "./code-editor-view";
import styles from "./code-editor.module.css";
import { useField } from "./field";

const View = lazy(() => import("./code-editor-view"));

export type { CodeEditorProps, Language, Mark, Variable } from "./code-editor-view";

/** Code with colours, completion and problems at their place; its weight is loaded when the first one is shown. */
export function CodeEditor(props: Omit<CodeEditorProps, "field">) {
  const field = useField();
  return (
    <Suspense fallback={<div className={styles.waiting} style={{ minHeight: props.oneLine ? 32 : (props.minHeight ?? 160) }} />}>
      <View {...props} field={field} />
    </Suspense>
  );
}
