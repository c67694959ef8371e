/** What the screens of sequences read and change. */
import type { ChangedSequence, GivenStep, Sequence } from "@tidings/client";
import { api, call } from "../../api/client";
import { invalidate, isNotFound, useRead } from "../../api/queries";
import type { NodeTypes } from "../workflows/model/schema";
import type { Change } from "./model/calendar";

export function useSequence(id: string) {
  const { data, error, isPending } = useRead("GET /v1/sequences/{id}", { path: { id } });
  return { sequence: data, isPending, isMissing: isNotFound(error), error: isNotFound(error) ? null : error };
}

/** The forms of messages; they change with the server alone. */
export function useNodeTypes() {
  const { data, error } = useRead("GET /v1/node-types", {});
  return { types: data as unknown as NodeTypes | undefined, error };
}

export async function updateSequence(id: string, body: ChangedSequence): Promise<Sequence> {
  const changed = await api.sequences.update(id, body);
  await invalidate("/v1/sequences");
  return changed;
}

/** One after the other, as the steps of one sequence are locked together. */
export async function changeSteps(id: string, changes: readonly Change[]): Promise<void> {
  for (const { id: stepId, ...body } of changes) await api.sequences.updateStep(id, stepId, body);
  await invalidate("/v1/sequences");
}

export async function saveStep(id: string, stepId: string | null, step: GivenStep): Promise<void> {
  if (stepId) await api.sequences.updateStep(id, stepId, step);
  else await api.sequences.addStep(id, step);
  await invalidate("/v1/sequences");
}

export async function deleteStep(id: string, stepId: string): Promise<void> {
  await api.sequences.deleteStep(id, stepId);
  await invalidate("/v1/sequences");
}

export const changeEnrollments = (id: string, contactIds: readonly string[], status: "active" | "paused" | "cancelled") =>
  call("PATCH /v1/sequences/{id}/enrollments", { path: { id }, body: { where: { contactIds: [...contactIds] }, status } });
