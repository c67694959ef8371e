import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { Validated } from "@tidings/client";
import { call, caller } from "../../api/client";
import { useLagging } from "../use-lagging";

type Body<Op extends "POST /v1/sequences/validate" | "POST /v1/rules/validate"> = NonNullable<NonNullable<Parameters<typeof call<Op>>[1]>["body"]>;

/** What the API says against steps of a sequence as they are written now, and the names that they may use. */
export function useCheckedSequence(body: Body<"POST /v1/sequences/validate">, enabled: boolean): Validated | undefined {
  return useChecked("sequences", body, enabled, () => call("POST /v1/sequences/validate", { body }));
}

/** The same for a rule. */
export function useCheckedRule(body: Body<"POST /v1/rules/validate">, enabled: boolean): Validated | undefined {
  return useChecked("rules", body, enabled, () => call("POST /v1/rules/validate", { body }));
}

function useChecked(of: string, body: unknown, enabled: boolean, ask: () => Promise<Validated>): Validated | undefined {
  const now = JSON.stringify(body);
  const key = useLagging(now);
  const { data } = useQuery({
    queryKey: [caller.workspace, "v1", of, "validate", key],
    queryFn: ask,
    enabled: enabled && key === now,
    placeholderData: keepPreviousData,
  });
  return data;
}
