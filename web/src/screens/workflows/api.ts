/** What the API answers about workflows, and the calls that change them. */
import { get, post, put, remove } from "../../api/request";
import type { ProblemPlace } from "../../api/problem";
import type { Definition, JsonObject } from "../../parts/graph/definition";

export interface Workflow {
  id: string;
  name: string;
  description: string | null;
  active: boolean;
  version: number;
  form: "graph" | "steps";
  definition: Definition;
  notReady: readonly string[];
  createdAt: string;
  updatedAt: string;
}

export interface Version {
  id: string;
  number: number;
  definition: Definition;
  createdAt: string;
  inFlight: number | null;
}

export interface ListedDraft {
  id: string;
  name: string;
  description: string | null;
  base: number;
  version: number;
  revision: number;
  savedBy: string | null;
  savedAt: string;
  createdAt: string;
}

export interface Draft extends ListedDraft {
  definition: Definition;
  valid: boolean;
  errors: readonly ProblemPlace[];
}

export interface Variable {
  name: string;
  origin: "contact" | "data" | "node" | "event" | "campaign" | "error";
  node: string | null;
}

export interface Checked {
  valid: boolean;
  errors: readonly ProblemPlace[];
  variables: readonly Variable[];
}

export interface Publication {
  id: string;
  name: string;
  version: number;
  change: "created" | "updated" | "unchanged";
  inFlight: readonly { version: number; count: number }[];
  notReady: readonly string[];
}

export interface Preview {
  channel: string;
  part: string | null;
  recipients: readonly string[];
  content: Readonly<Record<string, string>>;
  size: number | null;
  segments: { encoding: string; units: number; segments: number } | null;
  problems: readonly string[];
  error: string | null;
  skipped: string | null;
}

const AT = "/v1/workflows";

export const pathOf = (id: string) => `${AT}/${id}`;
export const draftPath = (id: string) => `${AT}/${id}/draft`;

export interface Saved {
  definition: Definition;
  revision: number;
  base?: number;
}

export const createDraft = (name: string, description: string, definition: Definition) =>
  post<Draft>(`${AT}/drafts`, { name, definition, ...(description ? { description } : {}) });
export const readDraft = (id: string, signal?: AbortSignal) => get<Draft>(draftPath(id), { signal });
export const saveDraft = (id: string, saved: Saved) => put<Draft>(draftPath(id), saved);
export const deleteDraft = (id: string) => remove(draftPath(id));
export const publishDraft = (id: string, revision: number) => post<Publication>(`${draftPath(id)}/publish`, { revision });
export const checkDefinition = (definition: Definition, node: string | undefined, signal: AbortSignal) =>
  post<Checked>(`${AT}/validate`, { definition }, { query: { node }, signal });
export const switchWorkflow = (id: string, active: boolean) => post<Workflow>(`${pathOf(id)}/${active ? "activate" : "deactivate"}`);
export const deleteWorkflow = (id: string) => remove(pathOf(id));

export interface Trigger {
  data: JsonObject;
  contactId?: string;
}

export const triggerWorkflow = (id: string, trigger: Trigger) => post<{ id: string }>(`${pathOf(id)}/triggers`, trigger);

export interface Unsaved {
  channel: string;
  content: JsonObject;
  to?: string | readonly string[];
  data?: JsonObject;
  contactId?: string;
}

export const previewUnsaved = (unsaved: Unsaved, signal: AbortSignal) => post<{ data: Preview[] }>("/v1/previews", unsaved, { signal });
