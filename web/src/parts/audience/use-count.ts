import type { CountedAudience, GivenCount } from "@tidings/client";
import { keepPreviousData, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import { call, caller } from "../../api/client";
import { useRead } from "../../api/queries";
import { useLagging } from "../use-lagging";
import type { Filter } from "./filter";

type Counting = Omit<GivenCount, "audience">;

/** How many an audience has at this moment, a moment after it was last changed; nothing while it names nobody. */
export function useCount(audience: Filter | null, more: Counting = {}): UseQueryResult<CountedAudience> {
  const body = useLagging(JSON.stringify({ audience, ...more }));
  return useQuery({
    queryKey: [caller.workspace, "v1", "audiences", "count", body],
    queryFn: ({ signal }) => call("POST /v1/audiences/count", { body: JSON.parse(body) as GivenCount, signal }),
    enabled: audience !== null,
    placeholderData: audience === null ? undefined : keepPreviousData,
  });
}

/** The names of attributes that the newest contacts have. */
export function useAttributeNames(): readonly string[] {
  const { data } = useRead("GET /v1/contacts", { query: { limit: 100 } });
  return useMemo(() => [...new Set(data?.data.flatMap((one) => Object.keys(one.attributes)))].sort(), [data]);
}
