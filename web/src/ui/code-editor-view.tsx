import { autocompletion, closeBrackets, closeBracketsKeymap, type Completion, completionKeymap, type CompletionSource } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { html } from "@codemirror/lang-html";
import { json } from "@codemirror/lang-json";
import { liquid } from "@codemirror/lang-liquid";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension, type Transaction, type TransactionSpec } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import { cspNonce } from "../shell/nonce";
import { labelOf } from "./field";
import styles from "./code-editor.module.css";
import { cx } from "./cx";

export type Language = "liquid" | "liquid-in-html" | "json";

/** Something wrong, from one character to another, or in one line. */
export interface Mark {
  message: string;
  from?: number;
  to?: number;
  /** Counted from 1, for problems that only know their line. */
  line?: number;
  severity?: "error" | "warning" | "info";
}

/** A name that completion offers, and where it comes from. */
export interface Variable {
  name: string;
  about?: string;
}

export interface CodeEditorProps {
  value: string;
  onChange?: (value: string) => void;
  language: Language;
  /** Its accessible name, where no field around it has a label. */
  label?: string;
  variables?: readonly Variable[];
  /** Asked as well as `variables`. */
  complete?: CompletionSource;
  marks?: readonly Mark[];
  readOnly?: boolean;
  placeholder?: string;
  minHeight?: number;
  maxHeight?: number;
  /** As tall as its place. */
  fill?: boolean;
  lines?: boolean;
  /** A single line, as tall as a text field; Enter adds no line. */
  oneLine?: boolean;
  field: Record<string, unknown>;
}

const NO_MARKS: readonly Mark[] = [];

/** The editor itself, on CodeMirror. */
export default function CodeEditorView(props: CodeEditorProps) {
  const { value, marks = NO_MARKS, fill, field } = props;
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const latest = useRef(props);
  const given = useRef(new Compartment());

  useEffect(() => {
    latest.current = props;
  });

  useEffect(() => {
    if (!place.current) return;
    const made = new EditorView({
      parent: place.current,
      state: EditorState.create({ doc: latest.current.value, extensions: [fixed(latest), given.current.of([])] }),
    });
    view.current = made;
    return () => made.destroy();
  }, []);

  useEffect(() => {
    view.current?.dispatch({ effects: given.current.reconfigure(changing(props)) });
    // eslint-disable-next-line react-hooks/exhaustive-deps -- what is configured, not what is typed
  }, [props.language, props.readOnly, props.placeholder, props.label, props.lines, props.oneLine, props.minHeight, props.maxHeight]);

  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);

  useEffect(() => {
    const editor = view.current;
    if (editor) editor.dispatch(setDiagnostics(editor.state, marks.map((mark) => diagnostic(editor.state, mark))));
  }, [marks, value]);

  return <div ref={place} className={cx(styles.editor, fill && styles.fill, Boolean(field["aria-invalid"]) && styles.invalid)} />;
}

function fixed(latest: React.RefObject<CodeEditorProps>): Extension {
  return [
    EditorView.cspNonce.of(cspNonce()),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    highlightSelectionMatches(),
    autocompletion({ override: [(context) => completeVariables(context, latest.current.variables ?? []), (context) => latest.current.complete?.(context) ?? null] }),
    keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap]),
    syntaxHighlighting(colours),
    EditorView.lineWrapping,
    EditorView.updateListener.of((update) => {
      if (update.docChanged) latest.current.onChange?.(update.state.doc.toString());
    }),
  ];
}

function changing(props: CodeEditorProps): Extension {
  const id = props.field["id"];
  const label = props.label ? { "aria-label": props.label } : { "aria-labelledby": typeof id === "string" ? labelOf(id) : undefined };
  const known = Object.entries({ ...props.field, ...label }).filter(([, value]) => value !== undefined);
  return [
    languageOf(props.language),
    EditorState.readOnly.of(props.readOnly ?? false),
    EditorView.contentAttributes.of(Object.fromEntries(known.map(([name, value]) => [name, String(value)]))),
    placeholder(props.placeholder ?? ""),
    props.oneLine ? EditorState.transactionFilter.of(withoutLines) : [],
    props.lines === false || props.oneLine ? [] : [lineNumbers(), lintGutter(), highlightActiveLine()],
    look(props),
  ];
}

/** What is pasted into a single line has its lines joined. */
function withoutLines(transaction: Transaction): TransactionSpec {
  if (!transaction.docChanged || transaction.newDoc.lines === 1) return transaction;
  const joined = transaction.newDoc.toString().replaceAll(/\s*\n\s*/g, " ");
  if (joined.trim() === transaction.startState.doc.toString().trim()) return { effects: [] };
  return { changes: { from: 0, to: transaction.startState.doc.length, insert: joined }, selection: { anchor: joined.length } };
}

function languageOf(language: Language): Extension {
  if (language === "json") return json();
  return language === "liquid" ? liquid() : liquid({ base: html() });
}

/** Inside `{{ … }}` and `{% … %}`, the names that are known there. */
export const completeVariables = (context: Parameters<CompletionSource>[0], variables: readonly Variable[]) => {
  const word = context.matchBefore(/[\w.]*/);
  const before = context.state.sliceDoc(Math.max(0, context.pos - 500), context.pos);
  const isInside = Math.max(before.lastIndexOf("{{"), before.lastIndexOf("{%")) > Math.max(before.lastIndexOf("}}"), before.lastIndexOf("%}"));
  if (!word || !isInside || (word.from === word.to && !context.explicit && !/\{[{%]\s*$/.test(before))) return null;
  const options: Completion[] = variables.map(({ name, about }) => ({ label: name, detail: about, type: "variable" }));
  return { from: word.from, options, validFor: /^[\w.]*$/ };
};

function diagnostic(state: EditorState, mark: Mark): Diagnostic {
  const end = state.doc.length;
  const line = mark.line ? state.doc.line(Math.max(1, Math.min(mark.line, state.doc.lines))) : undefined;
  const from = Math.min(mark.from ?? line?.from ?? 0, end);
  const to = Math.min(Math.max(mark.to ?? line?.to ?? from, from), end);
  return { from, to, message: mark.message, severity: mark.severity ?? "error" };
}

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.controlKeyword, tags.operatorKeyword], color: "var(--doubt)" },
  { tag: [tags.string, tags.attributeValue], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warn)" },
  { tag: [tags.tagName, tags.propertyName], color: "var(--accent-text)" },
  { tag: [tags.attributeName, tags.variableName], color: "var(--info)" },
  { tag: [tags.comment, tags.meta], color: "var(--text-faint)" },
  { tag: [tags.punctuation, tags.bracket, tags.angleBracket, tags.brace], color: "var(--text-muted)" },
]);

function look({ minHeight = 160, maxHeight = 480, fill, oneLine }: CodeEditorProps): Extension {
  return EditorView.theme({
    "&": { height: fill ? "100%" : "auto", maxHeight: fill ? "none" : `${maxHeight}px`, fontSize: "13px" },
    "&.cm-focused": { outline: "none" },
    ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", minHeight: fill || oneLine ? "0" : `${minHeight}px`, overflow: "auto" },
    ".cm-content": { caretColor: "var(--text)", padding: oneLine ? "5px 4px" : "8px 0" },
    ".cm-gutters": { backgroundColor: "var(--bg-subtle)", color: "var(--text-faint)", borderRight: "1px solid var(--border)" },
    ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
    ".cm-cursor": { borderLeftColor: "var(--text)" },
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--bg-active)" },
    ".cm-matchingBracket": { backgroundColor: "var(--accent-soft) !important", outline: "none" },
    ".cm-placeholder": { color: "var(--text-faint)" },
    ".cm-tooltip": { backgroundColor: "var(--bg-raised)", border: "1px solid var(--border)", borderRadius: "6px", color: "var(--text)" },
    ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--bg-active)", color: "var(--text)" },
    ".cm-completionDetail": { color: "var(--text-muted)", fontStyle: "normal", marginLeft: "12px" },
    ".cm-panels": { backgroundColor: "var(--bg-subtle)", color: "var(--text)" },
    ".cm-diagnostic": { fontFamily: "var(--sans)", fontSize: "13px" },
  });
}
