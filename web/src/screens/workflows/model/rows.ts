/** The list: workflows that are published, and those that are only drafts, in one. */
import type { ListedDraft, Workflow } from "@tidings/client";
import { objectsIn, type JsonObject } from "../../../parts/graph/definition";

export interface ListedRow {
  id: string;
  name: string;
  /** 0 of what was never published. */
  version: number;
  active: boolean;
  notReady: readonly string[];
  nodes: number | undefined;
  draft: ListedDraft | undefined;
  updatedAt: string;
}

export interface Wanted {
  search: string;
  status: string;
}

export function rowsOf(workflows: readonly Workflow[], drafts: readonly ListedDraft[], wanted: Wanted): ListedRow[] {
  const draftOf = new Map(drafts.map((one) => [one.id, one]));
  const published = workflows.map((one) => rowOf(one, draftOf.get(one.id)));
  const begun = drafts.filter((one) => one.version === 0).map((one) => rowOfDraft(one));
  return [...begun, ...published].filter((row) => fits(row, wanted)).sort((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1));
}

function rowOf(workflow: Workflow, draft: ListedDraft | undefined): ListedRow {
  const { id, name, version, active, notReady, updatedAt } = workflow;
  const definition = workflow.definition as JsonObject;
  return { id, name, version, active, notReady, updatedAt, draft, nodes: objectsIn(definition["nodes"] ?? definition["steps"]).length };
}

function rowOfDraft(draft: ListedDraft): ListedRow {
  return { id: draft.id, name: draft.name, version: 0, active: false, notReady: [], nodes: undefined, draft, updatedAt: draft.savedAt };
}

function fits(row: ListedRow, { search, status }: Wanted): boolean {
  if (search && !row.name.toLowerCase().includes(search.toLowerCase())) return false;
  if (status === "draft") return row.draft !== undefined;
  if (status) return row.version > 0 && row.active === (status === "active");
  return true;
}
