// How long to wait: between tries, for an answer, and for whoever asked to give up.

import { ApiError, PASSING, ServerUnreachable, TOO_MANY } from "./errors.js";

/** How often a request is sent, and the waits between: doubled each time, half of each random. */
export interface Retrying {
  attempts: number;
  baseMs: number;
  capMs: number;
  longestRetryAfterMs: number;
}

export const RETRYING: Retrying = { attempts: 5, baseMs: 250, capMs: 8_000, longestRetryAfterMs: 60_000 };

/** Codes of errors that happen before the first byte is sent, where the platform says so. */
const NOT_SENT: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

/** Return the wait after an attempt (from 1 on); never less than the server asked for. */
export function waitAfter(retrying: Retrying, attempt: number, askedMs: number | null = null): number {
  const doubled = Math.min(retrying.capMs, retrying.baseMs * 2 ** (attempt - 1));
  const asked = Math.min(askedMs ?? 0, retrying.longestRetryAfterMs);
  return Math.max(doubled * (0.5 + Math.random() / 2), asked);
}

/** Return whether a request may be sent again after this error; 429 means that nothing was done. */
export function mayTryAgain(error: unknown, repeatable: boolean): boolean {
  if (error instanceof ApiError) return error.status === TOO_MANY || (repeatable && PASSING.has(error.status));
  return error instanceof ServerUnreachable && (repeatable || NOT_SENT.has(codeOf(error.cause)));
}

function codeOf(error: unknown): unknown {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: { code?: unknown } };
  return cause?.code ?? code;
}

/** A signal that aborts with any of the others and, after some time, by itself; `end` must be called. */
export interface Limit {
  signal: AbortSignal;
  expired: () => boolean;
  end: () => void;
}

/** Make a limit. It keeps to setTimeout and AbortController, which every runtime has. */
export function limit(ms: number, ...signals: (AbortSignal | undefined)[]): Limit {
  const controller = new AbortController();
  let expired = false;
  const timer = setTimeout(() => {
    expired = true;
    controller.abort(new Error(`no answer within ${ms} ms`));
  }, Math.min(ms, LONGEST_TIMER_MS));
  const ends = signals.flatMap((signal) => (signal ? [passOn(signal, controller)] : []));
  const end = () => {
    clearTimeout(timer);
    ends.forEach((each) => each());
  };
  return { signal: controller.signal, expired: () => expired, end };
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

function passOn(signal: AbortSignal, controller: AbortController): () => void {
  const abort = () => controller.abort(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  return () => signal.removeEventListener("abort", abort);
}

/** Wait, or throw the signal's reason as soon as it aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}
