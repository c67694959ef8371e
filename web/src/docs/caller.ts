/** In whose name the API reference sends what is tried: with the key that was given, or else with the session. */

export interface Session {
  user: { email: string };
  workspace: string;
  csrfToken: string;
}

/** A request as Swagger UI sends it. */
export interface TriedRequest {
  url: string;
  method?: string;
  headers?: Record<string, string>;
}

const CHOSEN = "tidings.workspace";
const SAFE = new Set(["GET", "HEAD"]);

/** The workspace that was chosen on the page, if any. */
export const chosenWorkspace = (): string | null => sessionStorage.getItem(CHOSEN) ?? localStorage.getItem(CHOSEN);

/** Who is signed in in this browser, or nobody. */
export async function readSession(): Promise<Session | null> {
  const headers = workspaceHeader();
  const response = await fetch("/v1/session", { headers, credentials: "same-origin" }).catch(() => null);
  return response?.ok ? ((await response.json()) as Session) : null;
}

/** Add what a session needs to a request without a key; the token is asked for anew, since one may sign in again. */
export async function inCallersName(request: TriedRequest): Promise<TriedRequest> {
  const headers = request.headers ?? {};
  if (hasKey(headers) || !new URL(request.url, location.href).pathname.startsWith("/v1/")) return request;
  const session = SAFE.has((request.method ?? "GET").toUpperCase()) ? null : await readSession();
  const token = session ? { "X-Tidings-CSRF": session.csrfToken } : {};
  return Object.assign(request, { headers: { ...headers, ...workspaceHeader(), ...token } });
}

function workspaceHeader(): Record<string, string> {
  const workspace = chosenWorkspace();
  return workspace ? { "X-Tidings-Workspace": workspace } : {};
}

function hasKey(headers: Record<string, string>): boolean {
  return Object.keys(headers).some((name) => ["authorization", "apikey"].includes(name.toLowerCase()));
}
