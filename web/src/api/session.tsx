/** Who is signed in, in which workspace, and what they may do there. */
import type { CurrentSession, Permission } from "@tidings/client";
import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useState } from "react";
import { api, caller } from "./client";
import { asProblem } from "./problem";
import { queryClient } from "./queries";

interface SessionState {
  /** `undefined` until it is known, `null` for nobody. */
  session: CurrentSession | null | undefined;
  /** Why it cannot be known. */
  problem: unknown;
  /** Take the session of an answer as the current one. */
  begin: (session: CurrentSession) => void;
  chooseWorkspace: (workspace: string) => void;
  signOut: () => Promise<void>;
  reload: () => Promise<void>;
}

const SessionContext = createContext<SessionState | null>(null);
const CHOSEN = "tidings.workspace";

/** Stands once around the page. */
export function SessionProvider({ children }: { children: ReactNode }) {
  const [session, setSession] = useState<CurrentSession | null | undefined>(undefined);
  const [problem, setProblem] = useState<unknown>(null);

  const begin = useCallback((found: CurrentSession) => {
    caller.csrfToken = found.csrfToken;
    caller.workspace = found.workspace;
    setProblem(null);
    setSession(found);
  }, []);

  const end = useCallback(() => {
    caller.csrfToken = null;
    queryClient.clear();
    setSession(null);
  }, []);

  const reload = useCallback(async () => {
    caller.workspace = sessionStorage.getItem(CHOSEN) ?? localStorage.getItem(CHOSEN);
    try {
      begin(await readOwn());
    } catch (error) {
      if (asProblem(error).status === 401) end();
      else setProblem(error);
    }
  }, [begin, end]);

  const chooseWorkspace = useCallback(
    (workspace: string) => {
      sessionStorage.setItem(CHOSEN, workspace);
      localStorage.setItem(CHOSEN, workspace);
      void reload();
    },
    [reload],
  );

  const signOut = useCallback(async () => {
    await api.session.signOut();
    end();
  }, [end]);

  useEffect(() => {
    caller.onSignedOut = end;
    // eslint-disable-next-line react-hooks/set-state-in-effect -- what it sets comes from the server
    void reload();
  }, [end, reload]);

  const state = useMemo(
    () => ({ session, problem, begin, chooseWorkspace, signOut, reload }),
    [session, problem, begin, chooseWorkspace, signOut, reload],
  );
  return <SessionContext value={state}>{children}</SessionContext>;
}

/** The session of the chosen workspace; of the person's first one where they no longer have that. */
async function readOwn(): Promise<CurrentSession> {
  try {
    return await api.session.get();
  } catch (error) {
    if (caller.workspace === null || ![403, 404].includes(asProblem(error).status)) throw error;
    caller.workspace = null;
    return await api.session.get();
  }
}

export function useSessionState(): SessionState {
  const state = use(SessionContext);
  if (!state) throw new Error("there is no SessionProvider around this");
  return state;
}

/** Who is signed in; only for what is shown to somebody who is. */
export function useSession(): CurrentSession {
  const { session } = useSessionState();
  if (!session) throw new Error("nobody is signed in");
  return session;
}

/** Whether the person may do something in the current workspace: `operate`, `define`, `administer`. */
export function useMay(permission: Permission | null): boolean {
  const { session } = useSessionState();
  return permission === null || (session?.permissions.includes(permission) ?? false);
}
