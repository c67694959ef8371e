/** Keeping the draft: a moment after each edit, at once when asked, never over what somebody else has saved. */
import { useCallback, useEffect, useRef, useState } from "react";
import { type ApiError, asProblem } from "../../../api/problem";
import { invalidate } from "../../../api/queries";
import type { Definition } from "../../../parts/graph/definition";
import { type Draft, readDraft, saveDraft } from "../api";

const PAUSE_MS = 900;

export type SavingState = "saved" | "unsaved" | "saving" | "conflict" | "failed";

export interface Saving {
  state: SavingState;
  problem: ApiError | null;
  /** Of what is saved; 0 while there is no draft. */
  revision: number;
  base: number;
  /** What somebody else has saved meanwhile. */
  theirs: Draft | null;
  /** Save now; the revision that is saved then, or nothing if that failed. */
  flush: () => Promise<number | undefined>;
  /** Go on from what is saved, or write over it. */
  settle: (keep: "mine" | "theirs", base?: number) => Promise<void>;
  /** Save nothing any more: the draft is thrown away. */
  stop: () => void;
}

interface Known {
  definition: Definition;
  revision: number;
  base: number;
}

/** `known` is what was loaded; a draft is made by the first edit. */
export function useSaving(id: string, definition: Definition, known: Known, load: (definition: Definition) => void): Saving {
  const saved = useRef(known);
  const latest = useRef(definition);
  const running = useRef<Promise<number | undefined> | null>(null);
  const [state, setState] = useState<SavingState>("saved");
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [theirs, setTheirs] = useState<Draft | null>(null);
  const [told, setTold] = useState({ revision: known.revision, base: known.base });

  useEffect(() => {
    latest.current = definition;
  });

  const keep = useCallback((draft: Draft, written: Definition) => {
    saved.current = { definition: written, revision: draft.revision, base: draft.base };
    setTold({ revision: draft.revision, base: draft.base });
    setState(latest.current === written ? "saved" : "unsaved");
    setProblem(null);
  }, []);

  const refuse = useCallback(
    async (error: unknown) => {
      const found = asProblem(error);
      setProblem(found);
      setState(found.status === 409 ? "conflict" : "failed");
      if (found.status === 409) setTheirs(await readDraft(id).catch(() => null));
    },
    [id],
  );

  const write = useCallback(
    async (base?: number): Promise<number | undefined> => {
      const written = latest.current;
      setState("saving");
      try {
        keep(await saveDraft(id, { definition: written, revision: saved.current.revision, ...(base === undefined ? {} : { base }) }), written);
        return saved.current.revision;
      } catch (error) {
        await refuse(error);
        return undefined;
      }
    },
    [id, keep, refuse],
  );

  const stop = useCallback(() => {
    saved.current = { ...saved.current, definition: latest.current };
  }, []);

  const flush = useCallback(async (): Promise<number | undefined> => {
    await running.current;
    if (latest.current === saved.current.definition && saved.current.revision > 0) return saved.current.revision;
    running.current = write().finally(() => {
      running.current = null;
    });
    return running.current;
  }, [write]);

  const settle = useCallback(
    async (what: "mine" | "theirs", base?: number) => {
      const now = what === "theirs" && theirs ? theirs : await readDraft(id).catch(() => null);
      saved.current = { ...saved.current, revision: now?.revision ?? 0, base: now?.base ?? saved.current.base };
      setTheirs(null);
      if (what === "mine") await write(base);
      else if (now) {
        load(now.definition);
        latest.current = now.definition;
        keep(now, now.definition);
      }
    },
    [id, theirs, write, keep, load],
  );

  useEffect(() => {
    if (definition === saved.current.definition || state === "conflict") return;
    setState((now) => (now === "saving" ? now : "unsaved"));
    const timer = setTimeout(() => void flush(), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [definition, state, flush]);

  useWarningBeforeLeaving(state !== "saved");
  useEffect(
    () => () => {
      if (latest.current !== saved.current.definition) void flush().then(() => invalidate("/v1/workflows"));
      else void invalidate("/v1/workflows");
    },
    [flush],
  );
  return { state, problem, ...told, theirs, flush, settle, stop };
}

/** The browser asks before a window with unsaved changes is closed. */
function useWarningBeforeLeaving(isUnsaved: boolean): void {
  useEffect(() => {
    if (!isUnsaved) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [isUnsaved]);
}
