/** Who is signed in, in which workspace, and what they may do there. */
import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useState } from "react";
import { asProblem } from "./problem";
import { queryClient } from "./queries";
import { caller, get, post, remove } from "./request";

export interface Membership {
  workspace: string;
  roles: string[];
  permissions: string[];
}

export interface Session {
  user: { id: string; email: string; name: string };
  tenant: string;
  workspace: string;
  workspaces: Membership[];
  permissions: string[];
  isOperator: boolean;
  csrfToken: string;
  expiresAt: string;
}

export interface SignInWays {
  password: boolean;
  oidc: { name: string; label: string; url: string }[];
}

export interface Redeemed {
  token: string;
  name?: string;
  email?: string;
  password?: string;
}

interface SessionState {
  /** `undefined` until it is known, `null` for nobody. */
  session: Session | null | undefined;
  /** Why it cannot be known. */
  problem: unknown;
  /** Take the session of an answer as the current one. */
  begin: (session: Session) => void;
  chooseWorkspace: (workspace: string) => void;
  signOut: () => Promise<void>;
  reload: () => Promise<void>;
}

const SessionContext = createContext<SessionState | null>(null);
const CHOSEN = "tidings.workspace";

export const signIn = (email: string, password: string) => post<Session>("/v1/sessions", { email, password });
export const redeem = (given: Redeemed) => post<Session>("/v1/sessions/redeem", given);
export const readSignInWays = () => get<SignInWays>("/v1/sign-in");

/** Stands once around the page. */
export function SessionProvider({ children }: { children: ReactNode }) {
  const [session, setSession] = useState<Session | null | undefined>(undefined);
  const [problem, setProblem] = useState<unknown>(null);

  const begin = useCallback((found: Session) => {
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
      begin(await readSession());
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
    await remove("/v1/session");
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
async function readSession(): Promise<Session> {
  try {
    return await get<Session>("/v1/session");
  } catch (error) {
    if (caller.workspace === null || ![403, 404].includes(asProblem(error).status)) throw error;
    caller.workspace = null;
    return await get<Session>("/v1/session");
  }
}

export function useSessionState(): SessionState {
  const state = use(SessionContext);
  if (!state) throw new Error("there is no SessionProvider around this");
  return state;
}

/** Who is signed in; only for what is shown to somebody who is. */
export function useSession(): Session {
  const { session } = useSessionState();
  if (!session) throw new Error("nobody is signed in");
  return session;
}

/** Whether the person may do something in the current workspace: `operate`, `define`, `administer`. */
export function useMay(permission: string | null): boolean {
  const { session } = useSessionState();
  return permission === null || (session?.permissions.includes(permission) ?? false);
}
