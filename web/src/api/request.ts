/** One request to the API, in the name of whoever is signed in and in the workspace that is chosen. */
import { ApiProblem, type ProblemPlace } from "./problem";

export type QueryValue = string | number | boolean | null | undefined | readonly string[];

export interface RequestOptions {
  query?: Readonly<Record<string, QueryValue>> | undefined;
  body?: unknown;
  /** A file, or text that is not JSON, with its media type. */
  raw?: { content: BodyInit; type: string };
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal | undefined;
}

interface Caller {
  csrfToken: string | null;
  workspace: string | null;
  onSignedOut: () => void;
}

/** Set by the session, read by every request. */
export const caller: Caller = { csrfToken: null, workspace: null, onSignedOut: () => undefined };

export async function request<Answer>(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
  const response = await send(method, path, options);
  if (response.status === 204) return undefined as Answer;
  return (await response.json()) as Answer;
}

/** The answer itself, for files and streams. */
export async function send(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
  const { query = {}, body, raw, signal } = options;
  const response = await fetch(path + queryString(query), {
    method,
    headers: { ...headersOf(method, options), ...options.headers },
    body: raw?.content ?? (body === undefined ? null : JSON.stringify(body)),
    credentials: "same-origin",
    signal: signal ?? null,
  });
  if (response.ok) return response;
  if (response.status === 401) caller.onSignedOut();
  throw await problemOf(response);
}

export const get = <Answer>(path: string, options?: RequestOptions) => request<Answer>("GET", path, options);
export const post = <Answer>(path: string, body?: unknown, options?: RequestOptions) =>
  request<Answer>("POST", path, { ...options, body });
export const put = <Answer>(path: string, body: unknown, options?: RequestOptions) =>
  request<Answer>("PUT", path, { ...options, body });
export const patch = <Answer>(path: string, body: unknown, options?: RequestOptions) =>
  request<Answer>("PATCH", path, { ...options, body });
export const remove = <Answer = void>(path: string, options?: RequestOptions) => request<Answer>("DELETE", path, options);

function headersOf(method: string, { body, raw }: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (raw) headers["Content-Type"] = raw.type;
  else if (body !== undefined) headers["Content-Type"] = "application/json";
  if (caller.workspace) headers["X-Tidings-Workspace"] = caller.workspace;
  if (method !== "GET" && caller.csrfToken) headers["X-Tidings-CSRF"] = caller.csrfToken;
  return headers;
}

export function queryString(query: Readonly<Record<string, QueryValue>>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "") continue;
    for (const one of Array.isArray(value) ? (value as readonly string[]) : [value]) params.append(name, String(one));
  }
  const words = params.toString();
  return words ? `?${words}` : "";
}

interface ProblemBody {
  code?: string;
  detail?: string;
  title?: string;
  errors?: ProblemPlace[];
  requestId?: string | null;
}

async function problemOf(response: Response): Promise<ApiProblem> {
  const body = (await response.json().catch(() => ({}))) as ProblemBody;
  const detail = body.detail ?? body.title ?? `${response.status} ${response.statusText}`;
  const requestId = body.requestId ?? response.headers.get("x-request-id");
  return new ApiProblem(response.status, body.code ?? "unknown", detail, body.errors ?? [], requestId);
}
