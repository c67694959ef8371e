/** What the API answers about workflows, and the calls that change them. */
import type * as Client from "@tidings/client";
import { call } from "../../api/client";
import { isNotFound, useRead } from "../../api/queries";
import type { Definition, JsonObject } from "../../parts/graph/definition";
import type { NodeTypes } from "./model/schema";

/** A definition is any object to the client; here it is JSON. */
type Written<View> = Omit<View, "definition"> & { definition: Definition };

export type Workflow = Written<Client.Workflow>;
export type Version = Written<Client.WorkflowVersion>;
export type Draft = Written<Client.Drafted>;
export type { ListedDraft, Preview, Publication, Simulation, Validated, Variable } from "@tidings/client";

const at = (id: string) => ({ path: { id } });
const written = <View extends { definition: unknown }>(view: View) => view as unknown as Written<View>;

export const createDraft = async (name: string, description: string, definition: Definition) =>
  written(await call("POST /v1/workflows/drafts", { body: { name, definition, description: description || null } }));
export const readDraft = async (id: string) => written(await call("GET /v1/workflows/{id}/draft", at(id)));
export const deleteDraft = (id: string) => call("DELETE /v1/workflows/{id}/draft", at(id));
export const publishDraft = (id: string, revision: number) => call("POST /v1/workflows/{id}/draft/publish", { ...at(id), body: { revision } });
export const deleteWorkflow = (id: string) => call("DELETE /v1/workflows/{id}", at(id));
export const switchWorkflow = (id: string, active: boolean) => call(active ? "POST /v1/workflows/{id}/activate" : "POST /v1/workflows/{id}/deactivate", at(id));

interface Saved {
  definition: Definition;
  /** What was read; 409 if it was saved since. */
  revision: number;
  base?: number;
}

export const saveDraft = async (id: string, body: Saved) => written(await call("PUT /v1/workflows/{id}/draft", { ...at(id), body }));

export const checkDefinition = (definition: Definition, node: string | undefined, signal: AbortSignal) =>
  call("POST /v1/workflows/validate", { body: { definition }, query: node === undefined ? {} : { node }, signal });

export const triggerWorkflow = (id: string, body: { data: JsonObject; contactId?: string }) => call("POST /v1/workflows/{id}/triggers", { ...at(id), body });

export type Unsaved = Client.GivenUnsavedPreview;

export const previewUnsaved = (body: Unsaved, signal: AbortSignal) => call("POST /v1/previews", { body, signal });

export const simulateWorkflow = (id: string, body: Client.GivenWorkflowSimulation) => call("POST /v1/workflows/{id}/simulate", { ...at(id), body, timeoutMs: 180_000 });

/** A workflow; `isMissing` of one that there is not, or that was never published. */
export function useWorkflow(id: string) {
  const { data, error, isPending } = useRead("GET /v1/workflows/{id}", at(id));
  return { workflow: data && written(data), error: isNotFound(error) ? null : error, isMissing: isNotFound(error), isPending };
}

/** The versions of a workflow, the newest first. */
export function useVersions(id: string) {
  const { data, error } = useRead("GET /v1/workflows/{id}/versions", at(id), { every: 15_000 });
  return { versions: data && [...data.data].sort((one, other) => other.number - one.number).map((one) => written(one)), error };
}

/** What somebody has begun to change about it, if anything. */
export function useDraft(id: string) {
  const { data, error, isPending } = useRead("GET /v1/workflows/{id}/draft", at(id));
  return { draft: data && written(data), isPending, error: isNotFound(error) ? null : error };
}

export interface Opened {
  workflow: Workflow | null;
  draft: Draft | null;
  types: NodeTypes;
}

/** Everything that the editor begins with. */
export async function openWorkflow(id: string): Promise<Opened> {
  const [workflow, draft, types] = await Promise.all([
    orNothing(call("GET /v1/workflows/{id}", at(id))),
    orNothing(call("GET /v1/workflows/{id}/draft", at(id))),
    call("GET /v1/node-types"),
  ]);
  return { workflow: workflow && written(workflow), draft: draft && written(draft), types: types as unknown as NodeTypes };
}

async function orNothing<Found>(asked: Promise<Found>): Promise<Found | null> {
  try {
    return await asked;
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}
