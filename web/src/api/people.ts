/** Signing in and out, and what concerns only the person who is signed in. */
import { api } from "./client";

export interface Membership {
  workspace: string;
  roles: string[];
  permissions: string[];
}

export interface Session {
  user: { id: string; email: string | null; name: string; hasPassword: boolean };
  tenant: string;
  /** Null for somebody without any role. */
  workspace: string | null;
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

export interface OpenSession {
  id: string;
  via: string;
  userAgent: string;
  current: boolean;
  createdAt: string;
  lastUsedAt: string;
}

export interface OwnChange {
  name?: string;
  email?: string;
  password?: string;
  currentPassword?: string;
}

const call = api.call.bind(api) as unknown as <Answer>(operation: string, given?: { body?: object; signal?: AbortSignal }) => Promise<Answer>;

export const readSession = () => call<Session>("GET /v1/session");
export const readSignInWays = () => call<SignInWays>("GET /v1/sign-in");
export const signIn = (email: string, password: string) => call<Session>("POST /v1/sessions", { body: { email, password } });
export const redeem = (token: string, given: OwnChange) => call<Session>("POST /v1/sessions/redeem", { body: { token, ...given } });
export const changeOwn = (given: OwnChange) => call<Session>("PATCH /v1/session/user", { body: given });
export const readOpenSessions = () => call<{ data: OpenSession[] }>("GET /v1/sessions");
export const signOutHere = () => call<void>("DELETE /v1/session");
export const signOutEverywhere = () => call<void>("DELETE /v1/sessions");
