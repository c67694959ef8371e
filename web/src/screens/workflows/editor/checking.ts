/** The API's own checks while one types: every problem with its place, and the names that templates may use. */
import { useEffect, useState } from "react";
import type { Definition } from "../../../parts/graph/definition";
import { checkDefinition, type Validated } from "../api";

const PAUSE_MS = 300;

export interface Checking {
  checked: Validated | null;
  isChecking: boolean;
}

export function useChecks(definition: Definition, node: string | undefined): Checking {
  const [answer, setAnswer] = useState<{ checked: Validated; of: Definition } | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      checkDefinition(definition, node, stop.signal).then(
        (checked) => setAnswer({ checked, of: definition }),
        () => undefined, // what could not be asked is asked again with the next letter; publishing checks anyway
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [definition, node]);
  return { checked: answer?.checked ?? null, isChecking: answer?.of !== definition };
}
