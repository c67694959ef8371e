// What a caller of the API must know of:
//
// Error
// ├── ApiError             the server answered, and it was not a success
// │   ├── Invalid            400, 413, 422: what was sent; every problem is in `errors`
// │   ├── Unauthorized       401, 403: the key or the session does not open this
// │   ├── NotFound           404: no such thing in the workspace
// │   ├── Conflict           409: it exists, but its state forbids this
// │   ├── TooManyRequests    429: after every try that `Retry-After` allowed
// │   └── Unavailable        502, 503, 504: after every try that was safe
// ├── ServerUnreachable    no answer, after every try that was safe
// └── WaitTimeout          the execution or run goes on, but nobody waits any longer

import type { ProblemPlace } from "./schema.js";

/** An answer that is not a success. `code` is stable; `requestId` is what the server's log has. */
export class ApiError extends Error {
  override name = "ApiError";

  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly errors: readonly ProblemPlace[] = [],
    readonly requestId: string | null = null,
    readonly retryAfterMs: number | null = null,
  ) {
    super(`${status} ${code}: ${detail}`);
  }
}

/** What was sent must be changed; `errors` has every problem with its place. */
export class Invalid extends ApiError {
  override name = "Invalid";
}

/** The key or the session does not open this. */
export class Unauthorized extends ApiError {
  override name = "Unauthorized";
}

/** No such thing in the workspace. */
export class NotFound extends ApiError {
  override name = "NotFound";
}

/** The state of the thing forbids what was asked. */
export class Conflict extends ApiError {
  override name = "Conflict";
}

/** More than the tenant's share, or a server that has too many wrong keys; `retryAfterMs` says when to come again. */
export class TooManyRequests extends ApiError {
  override name = "TooManyRequests";
}

/** The server, or a proxy before it, is away for a moment. */
export class Unavailable extends ApiError {
  override name = "Unavailable";
}

/** The server did not answer. */
export class ServerUnreachable extends Error {
  override name = "ServerUnreachable";
}

/** An execution or a run that had not ended in the time given; it goes on. */
export class WaitTimeout extends Error {
  override name = "WaitTimeout";

  constructor(readonly what: "execution" | "run", readonly id: string, readonly timeoutMs: number, readonly status: string) {
    super(`${what} ${id} is still ${status} after ${timeoutMs} ms; it goes on, wait again`);
  }
}

/** Statuses that a server, or a proxy before it, answers while it is away for a moment. */
export const PASSING: ReadonlySet<number> = new Set([502, 503, 504]);
export const TOO_MANY = 429;

const KINDS: Readonly<Record<number, typeof ApiError>> = {
  400: Invalid,
  401: Unauthorized,
  403: Unauthorized,
  404: NotFound,
  409: Conflict,
  413: Invalid,
  422: Invalid,
  429: TooManyRequests,
  502: Unavailable,
  503: Unavailable,
  504: Unavailable,
};
const LONGEST_STRANGE_TEXT = 200;

/** What an answer may say of itself: as problem+json, or as the envelope of existing front ends. */
interface Said {
  code?: string;
  title?: string;
  detail?: string;
  error?: string;
  errors?: ProblemPlace[];
  requestId?: string;
}

/** Return the error for an answer that is no success, perhaps a proxy's: such a page has only a status. */
export async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text();
  const said = read(text);
  const kind = KINDS[response.status] ?? ApiError;
  return new kind(
    response.status,
    said.code ?? "error",
    said.detail ?? said.error ?? said.title ?? (text.slice(0, LONGEST_STRANGE_TEXT) || "no reason given"),
    said.errors ?? [],
    said.requestId ?? response.headers.get("x-request-id"),
    retryAfterMs(response.headers.get("retry-after")),
  );
}

/** Return the error for an answer that no server of ours sends. */
export function unreadable(response: Response, reason: string): ApiError {
  const id = response.headers.get("x-request-id");
  return new ApiError(response.status, "answer_unreadable", `this is not what the API answers: ${reason}`, [], id);
}

function read(text: string): Said {
  try {
    const said: unknown = JSON.parse(text);
    return typeof said === "object" && said !== null ? said : {};
  } catch {
    return {};
  }
}

/** Return the milliseconds that `Retry-After` asks for, as a number of seconds or a date. */
function retryAfterMs(given: string | null): number | null {
  if (given === null || given.trim() === "") return null;
  const seconds = Number(given);
  const ms = Number.isNaN(seconds) ? Date.parse(given) - Date.now() : seconds * 1000;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
