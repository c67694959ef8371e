import type { GivenCampaign, Validated } from "@tidings/client";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { call, caller } from "../../api/client";
import { useLagging } from "../../parts/use-lagging";
import { type Draft, givenOf } from "./draft";

export interface Checks {
  checks: Validated | undefined;
  /** Whether the message as it is written now can be shown; what cannot is not asked for. */
  isRight: boolean;
}

const NAMELESS = "-";

/** What the API says against a draft, a moment after it was last changed, and the names that its message may print. */
export function useChecks(draft: Draft): Checks {
  const written = useLagging(JSON.stringify(givenOf(draft, draft.name.trim() || NAMELESS)));
  const { data, isPlaceholderData } = useQuery({
    queryKey: [caller.workspace, "v1", "campaigns", "validate", written],
    queryFn: ({ signal }) => call("POST /v1/campaigns/validate", { body: JSON.parse(written) as GivenCampaign, signal }),
    placeholderData: keepPreviousData,
  });
  const isRight = data !== undefined && !isPlaceholderData && !data.errors.some((one) => one.place.startsWith("content"));
  return { checks: data, isRight };
}
