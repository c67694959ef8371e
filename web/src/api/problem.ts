import { ApiError, ServerUnreachable } from "@tidings/client";
import { text } from "../text";

export { ApiError } from "@tidings/client";

/** Whatever was thrown, as a problem that can be shown. */
export function asProblem(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof ServerUnreachable) return new ApiError(0, "unreachable", text.problems.unreachable);
  return new ApiError(0, "page_error", error instanceof Error ? error.message : String(error));
}

/** What is wrong with one field of a form, or with what is inside it. */
export function problemAt(error: unknown, place: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const found = error.errors.filter((one) => isWithin(one.place, place));
  return found.length ? found.map((one) => one.message).join("; ") : undefined;
}

/** The problem itself unless the fields at these places show all of it. */
export function problemElsewhere(error: unknown, places: readonly string[]): unknown {
  if (error === null || error === undefined) return null;
  if (!(error instanceof ApiError) || error.errors.length === 0) return error;
  return error.errors.every((one) => places.some((place) => isWithin(one.place, place))) ? null : error;
}

function isWithin(place: string, outer: string): boolean {
  return place === outer || place.startsWith(`${outer}.`) || place.startsWith(`${outer}[`);
}
