/** The filter in the address of a list of contacts. */
import { type AudienceDraft, draftOf, type Filter } from "../../parts/audience/filter";

/** JSON from the builder; an expression, which somebody may have typed, is left to the API. */
export function whereFilter(where: string): Filter | null {
  try {
    const filter = JSON.parse(where) as unknown;
    return typeof filter === "object" && !Array.isArray(filter) ? (filter as Filter | null) : null;
  } catch {
    return null;
  }
}

export function draftOfWhere(where: string): AudienceDraft {
  return draftOf(whereFilter(where));
}

/** Everything that narrows the list, as an audience to count; nothing where only the API can tell. */
export function countedFilter({ text, tag, company, status, where }: Record<string, string | undefined>): Filter | null {
  const written = where ? whereFilter(where) : null;
  if (text || (where && !written)) return null;
  const parts: Filter[] = [];
  if (tag) parts.push({ tag });
  if (company) parts.push({ company });
  if (status) parts.push({ status });
  if (written) parts.push(written);
  return parts.length ? { all: parts } : { all: true };
}
