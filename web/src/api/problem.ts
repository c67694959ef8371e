import { text } from "../text";

/** One thing that is wrong, and where: `nodes[2].subject`. */
export interface ProblemPlace {
  place: string;
  message: string;
}

/** An answer of the API that says what is wrong (RFC 9457). */
export class ApiProblem extends Error {
  override name = "ApiProblem";

  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly errors: readonly ProblemPlace[] = [],
    readonly requestId: string | null = null,
  ) {
    super(detail);
  }
}

/** Whatever was thrown, as a problem that can be shown. */
export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  if (error instanceof TypeError) return new ApiProblem(0, "unreachable", text.problems.unreachable);
  return new ApiProblem(0, "page_error", error instanceof Error ? error.message : String(error));
}

/** What is wrong with one field of a form, or with what is inside it. */
export function problemAt(error: unknown, place: string): string | undefined {
  if (!(error instanceof ApiProblem)) return undefined;
  const found = error.errors.filter((one) => one.place === place || one.place.startsWith(`${place}.`) || one.place.startsWith(`${place}[`));
  return found.length ? found.map((one) => one.message).join("; ") : undefined;
}

/** The problem itself if no field of the form shows it. */
export function problemElsewhere(error: unknown, places: readonly string[]): unknown {
  if (error === null || error === undefined) return null;
  if (!(error instanceof ApiProblem) || error.errors.length === 0) return error;
  const isShown = (place: string) => places.some((one) => place === one || place.startsWith(`${one}.`) || place.startsWith(`${one}[`));
  return error.errors.every((one) => isShown(one.place)) ? null : error;
}
