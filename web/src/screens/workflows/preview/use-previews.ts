import { useEffect, useState } from "react";
import { asProblem } from "../../../api/problem";
import { type Preview, previewUnsaved, type Unsaved } from "../api";

const PAUSE_MS = 350;

/** The preview of what was written a moment ago; the last one stays until the next is there. */
export function usePreviews(unsaved: Unsaved | undefined): { previews: readonly Preview[] | null; problem: string | null } {
  const [answer, setAnswer] = useState<{ previews: readonly Preview[] | null; problem: string | null }>({ previews: null, problem: null });
  const key = JSON.stringify(unsaved);
  useEffect(() => {
    if (!key) return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      previewUnsaved(JSON.parse(key) as Unsaved, stop.signal).then(
        ({ data }) => setAnswer({ previews: data, problem: null }),
        (error: unknown) => !stop.signal.aborted && setAnswer(({ previews }) => ({ previews, problem: wordsOf(error) })),
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [key]);
  return unsaved ? answer : { previews: null, problem: null };
}

function wordsOf(error: unknown): string {
  const problem = asProblem(error);
  return problem.errors.length ? problem.errors.map((one) => `${one.place}: ${one.message}`).join("; ") : problem.detail;
}
