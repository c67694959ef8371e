import { useCallback, useMemo } from "react";
import { useSearchParams } from "wouter";

/** One value of the URL's query; empty and default values leave the URL. */
export function useQueryValue(name: string, byDefault = ""): [string, (value: string) => void] {
  const [params, setParams] = useSearchParams();
  const change = useCallback(
    (value: string) => {
      setParams((now) => withValue(now, name, value === byDefault ? "" : value), { replace: true });
    },
    [setParams, name, byDefault],
  );
  return [params.get(name) ?? byDefault, change];
}

/** The values of several names of the URL's query, for a request to the API. */
export function useQueryValues(names: readonly string[]): Record<string, string> {
  const [params] = useSearchParams();
  const given = names.map((name) => params.get(name) ?? "");
  const key = JSON.stringify([names, given]);
  return useMemo(() => {
    const [all, values] = JSON.parse(key) as [string[], string[]];
    return Object.fromEntries(all.map((name, place) => [name, values[place] ?? ""] as const).filter(([, value]) => value));
  }, [key]);
}

export function withValue(params: URLSearchParams, name: string, value: string): URLSearchParams {
  const next = new URLSearchParams(params);
  if (value) next.set(name, value);
  else next.delete(name);
  return next;
}
