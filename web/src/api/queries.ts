/** Reading: one answer, or a list page by page. Keys begin with the workspace, so that nothing is shown in another. */
import { keepPreviousData, QueryClient, useInfiniteQuery, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { ApiProblem } from "./problem";
import { caller, get, type QueryValue } from "./request";

export type Query = Readonly<Record<string, QueryValue>>;

export interface PageOf<Row> {
  data: Row[];
  nextCursor?: string | null;
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => failures < 2 && (!(error instanceof ApiProblem) || error.status >= 500 || error.status === 0),
      retryDelay: (failures) => 500 * 2 ** failures,
    },
  },
});

/** The key of what is read at a path; `invalidate` makes all that begins with it stale. */
export function keyOf(path: string, query: Query = {}): readonly unknown[] {
  return [caller.workspace, ...path.split("/").filter(Boolean), query];
}

/** After a change: read again what stands at this path and below it. */
export function invalidate(...paths: string[]): Promise<unknown> {
  const all = paths.map((path) => queryClient.invalidateQueries({ queryKey: [caller.workspace, ...path.split("/").filter(Boolean)] }));
  return Promise.all(all);
}

export interface ReadOptions {
  enabled?: boolean;
  /** Read again every so many milliseconds while the page is in sight. */
  every?: number;
  /** Show the last answer while another query's is on its way. */
  keep?: boolean;
}

/** One answer: `data`, `error`, `isPending`. */
export function useGet<Answer>(path: string, query: Query = {}, { enabled = true, every, keep }: ReadOptions = {}): UseQueryResult<Answer> {
  return useQuery<Answer>({
    queryKey: keyOf(path, query),
    queryFn: ({ signal }) => get<Answer>(path, { query, signal }),
    enabled,
    refetchInterval: every ?? false,
    ...(keep ? { placeholderData: keepPreviousData } : {}),
  });
}

export interface List<Row> {
  rows: readonly Row[];
  isLoading: boolean;
  error: unknown;
  more: { hasMore: boolean; isLoading: boolean; load: () => void };
  reload: () => void;
}

const PAGE_ROWS = 100;

/** A list that is read by cursors; give `rows`, `isLoading` and `more` to `Table`. */
export function useList<Row>(path: string, query: Query = {}, { enabled = true, every }: ReadOptions = {}): List<Row> {
  const found = useInfiniteQuery({
    queryKey: keyOf(path, { limit: PAGE_ROWS, ...query }),
    queryFn: ({ pageParam, signal }) => get<PageOf<Row>>(path, { query: { limit: PAGE_ROWS, ...query, cursor: pageParam }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
    enabled,
    // Reading again reads every page that is loaded: a list that somebody has scrolled through stays as it is.
    refetchInterval: (state) => (every && (state.state.data?.pages.length ?? 0) <= 1 ? every : false),
    refetchOnWindowFocus: (state) => (state.state.data?.pages.length ?? 0) <= 1,
  });
  const rows = useMemo(() => found.data?.pages.flatMap((page) => page.data) ?? [], [found.data]);
  const { fetchNextPage, refetch } = found;
  return {
    rows,
    isLoading: found.isPending && enabled,
    error: found.error,
    more: {
      hasMore: found.hasNextPage,
      isLoading: found.isFetchingNextPage,
      load: useCallback(() => void fetchNextPage({ cancelRefetch: false }), [fetchNextPage]),
    },
    reload: useCallback(() => void refetch(), [refetch]),
  };
}
