import type { GivenUnsavedPreview } from "@tidings/client";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { call, caller } from "../../api/client";
import { useLagging } from "../../parts/use-lagging";
import type { Draft } from "./draft";

/** The message as it is written now, for one contact; the last one stays until the next is there. */
export function usePreview({ channel, content }: Pick<Draft, "channel" | "content">, contactId: string | null, isRight: boolean) {
  const asked = useLagging(JSON.stringify({ channel, content, ...(contactId ? { contactId } : {}) }));
  return useQuery({
    queryKey: [caller.workspace, "v1", "previews", asked],
    queryFn: ({ signal }) => call("POST /v1/previews", { body: JSON.parse(asked) as GivenUnsavedPreview, signal }),
    enabled: isRight,
    placeholderData: keepPreviousData,
  });
}
