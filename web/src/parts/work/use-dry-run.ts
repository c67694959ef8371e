import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { caller } from "../../api/client";

/** What an action would do: asked again whenever `key` changes, and never kept for later. */
export function useDryRun<Plan>(key: string, ask: (signal: AbortSignal) => Promise<Plan>) {
  return useQuery({
    queryKey: [caller.workspace, "dry-run", key],
    queryFn: ({ signal }) => ask(signal),
    gcTime: 0,
    staleTime: 0,
    placeholderData: keepPreviousData,
  });
}
