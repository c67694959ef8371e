/** Reading: one answer, or a list page by page. Keys begin with the workspace, so that nothing is shown in another. */
import { ApiError } from "@tidings/client";
import { keepPreviousData, QueryClient, type QueryKey, useInfiniteQuery, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { type Answer, call, type CallArguments, caller, type Operation } from "./client";

type Reading = Extract<Operation, `GET ${string}`>;

/** What one call of an operation is given, as an object that may be left out where nothing is needed. */
type GivenOf<Op extends Operation> = NonNullable<CallArguments<Op>[0]>;

export const queryClient = new QueryClient({
  defaultOptions: { queries: { staleTime: 5_000, retry: false } }, // the client tries again by itself
});

/** The key of what is read: the parts of its address, so that a change of `/v1/runs` reaches what is below it. */
export function keyOf(operation: Operation, given: object = {}): QueryKey {
  const { path = {}, query = {} } = given as { path?: Record<string, string>; query?: object };
  const address = operation.slice(operation.indexOf(" ") + 1).replace(/\{(\w+)\}/g, (_, name: string) => path[name] ?? "");
  return [caller.workspace, ...address.split("/").filter(Boolean), query];
}

/** After a change: read again what stands at these addresses and below them, `/v1/runs`. */
export function invalidate(...addresses: string[]): Promise<unknown> {
  const parts = addresses.map((address) => address.split("/").filter(Boolean));
  return Promise.all(parts.map((part) => queryClient.invalidateQueries({ queryKey: [caller.workspace, ...part] })));
}

export interface ReadOptions {
  enabled?: boolean;
  /** Read again every so many milliseconds while the page is in sight. */
  every?: number | undefined;
  /** Show the last answer while another query's is on its way. */
  keep?: boolean;
}

/** One answer: `useRead("GET /v1/runs/{id}", { path: { id } })` has `data`, `error`, `isPending`. */
export function useRead<Op extends Reading>(
  operation: Op,
  given: GivenOf<Op>,
  { enabled = true, every, keep }: ReadOptions = {},
): UseQueryResult<Answer<Op>> {
  return useQuery<Answer<Op>>({
    queryKey: keyOf(operation, given),
    queryFn: ({ signal }) => ask(operation, { ...given, signal }),
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

type RowOf<Op extends Operation> = Answer<Op> extends { data: (infer Row)[] } ? Row : never;

interface OnePage<Row> {
  data: Row[];
  nextCursor?: string | null;
}

/** A list that is read by cursors; give `rows`, `isLoading` and `more` to `Table`. */
export function useList<Op extends Reading>(operation: Op, given: GivenOf<Op>, { enabled = true, every }: ReadOptions = {}): List<RowOf<Op>> {
  const found = useInfiniteQuery({
    queryKey: keyOf(operation, given),
    queryFn: ({ pageParam, signal }) => {
      const { query } = given as { query?: object };
      return ask(operation, { ...given, query: { ...query, ...pageParam }, signal }) as Promise<OnePage<RowOf<Op>>>;
    },
    initialPageParam: {},
    getNextPageParam: (last) => (last.nextCursor ? { cursor: last.nextCursor } : undefined),
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

/** Call with what was put together here, whose parts were checked where they came from. */
function ask<Op extends Operation>(operation: Op, given: object): Promise<Answer<Op>> {
  return call(operation, ...([given] as unknown as CallArguments<Op>));
}

/** Whether there is no such thing, which a screen says in its own words. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}
