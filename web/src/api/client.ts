/** The API, in the name of whoever is signed in and in the workspace that is chosen. */
import { type Answer, type Given, type Operation, Tidings } from "@tidings/client";

export type { Answer, Operation } from "@tidings/client";

interface Caller {
  csrfToken: string | null;
  workspace: string | null;
  onSignedOut: () => void;
}

/** Set by the session, read by every request. */
export const caller: Caller = { csrfToken: null, workspace: null, onSignedOut: () => undefined };

/** Every resource: `api.runs.get(id)`, `api.executions.follow(id)`, and `call` for any operation by its address. */
export const api = new Tidings({ url: "", credentials: "same-origin", headers: headersOfSession, fetch: watchedFetch });

/** One operation; its path, query, body and answer have the types of the API's description. */
export function call<Op extends Operation>(operation: Op, ...given: CallArguments<Op>): Promise<Answer<Op>> {
  return api.call(operation, ...given);
}

export type CallArguments<Op extends Operation> = object extends Given<Op> ? [given?: Given<Op>] : [given: Given<Op>];

function headersOfSession(): Record<string, string> {
  const headers: Record<string, string> = {};
  if (caller.workspace) headers["X-Tidings-Workspace"] = caller.workspace;
  if (caller.csrfToken) headers["X-Tidings-CSRF"] = caller.csrfToken;
  return headers;
}

/** A session that is over shows at whatever is asked next. */
async function watchedFetch(...given: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...given);
  if (response.status === 401) caller.onSignedOut();
  return response;
}
