/** What is proposed while a template is written: filters after `|`, tags after `{%`. Names are proposed by ui/code-editor. */
import type { CompletionContext, CompletionResult, CompletionSource } from "@codemirror/autocomplete";
import type { Variable as Proposed } from "../../../ui/code-editor";
import type { Variable } from "../api";
import type { NodeTypes } from "../model/schema";

const FILTER = /\|\s*(\w*)$/;
const TAG = /\{%-?\s*(\w*)$/;

export function liquidWords({ filters, tags }: NodeTypes["liquid"]): CompletionSource {
  const endings = tags.map((tag) => tag.end).filter((end): end is string => Boolean(end));
  const names = [...new Set([...tags.map((tag) => tag.name), ...endings])].sort();
  return (context) => wordsAt(context, FILTER, filters, "function") ?? wordsAt(context, TAG, names, "keyword");
}

function wordsAt(context: CompletionContext, pattern: RegExp, words: readonly string[], type: string): CompletionResult | null {
  const before = insideAt(context);
  const [, word] = before === null ? [] : (pattern.exec(before) ?? []);
  if (word === undefined) return null;
  return { from: context.pos - word.length, options: words.map((label) => ({ label, type })), validFor: /^\w*$/ };
}

/** What stands between the last `{{` or `{%` and the cursor; nothing outside of them. */
export function insideAt({ state, pos }: Pick<CompletionContext, "state" | "pos">): string | null {
  const before = state.sliceDoc(Math.max(0, pos - 1000), pos);
  const open = Math.max(before.lastIndexOf("{{"), before.lastIndexOf("{%"));
  const close = Math.max(before.lastIndexOf("}}"), before.lastIndexOf("%}"));
  return open > close ? before.slice(open) : null;
}

export function proposed(variables: readonly Variable[]): Proposed[] {
  return variables.map(({ name, origin, node }) => ({ name, about: node ?? origin }));
}
