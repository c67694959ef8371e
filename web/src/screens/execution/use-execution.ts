import { hasEnded } from "@tidings/client";
import { useMemo } from "react";
import { api } from "../../api/client";
import { invalidate, keyOf, queryClient, useRead } from "../../api/queries";
import { useStream } from "../../api/stream";
import type { Definition } from "../../parts/graph/definition";
import { definitionOf } from "./path-marks";

const EVERY_MS = 5_000;

/** An execution with its log and its path, which follow what happens until it has ended. */
export function useExecution(id: string) {
  const at = { path: { id } };
  const execution = useRead("GET /v1/executions/{id}", at);
  const isOpen = execution.data !== undefined && !hasEnded(execution.data);
  const every = isOpen ? EVERY_MS : undefined; // a failed attempt changes nothing that the stream tells
  const log = useRead("GET /v1/executions/{id}/log", at, { every });
  const path = useRead("GET /v1/executions/{id}/path", at, { every });
  const live = useStream(
    isOpen ? id : null,
    (signal) => api.executions.follow(id, { signal }),
    (state) => {
      queryClient.setQueryData(keyOf("GET /v1/executions/{id}", at), state);
      void invalidate(`/v1/executions/${id}/log`, `/v1/executions/${id}/path`);
    },
  );
  return { execution, log: log.data?.data, path: path.data, error: execution.error ?? log.error ?? path.error, isLost: isOpen && live === "lost" };
}

/** The definition of the version that an execution goes by; as far as its path tells it where that cannot be read. */
export function useDefinition(path: ReturnType<typeof useExecution>["path"]): Definition | undefined {
  const { workflowId, workflowVersion } = path ?? {};
  const versions = useRead("GET /v1/workflows/{id}/versions", { path: { id: workflowId ?? "" } }, { enabled: workflowId !== undefined });
  const found = versions.data?.data.find((one) => one.number === workflowVersion)?.definition;
  const isKnown = versions.data !== undefined || versions.error !== null;
  const shape = path && JSON.stringify([path.entry, path.nodes.map(({ id, type }) => [id, type]), path.edges.map(({ from, to }) => [from, to])]);
  return useMemo(
    () => (found as unknown as Definition | undefined) ?? (isKnown && path ? definitionOf(path) : undefined),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- what is drawn changes with its shape, not with each answer
    [found, isKnown, shape],
  );
}
