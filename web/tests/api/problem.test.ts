import { ApiError, ServerUnreachable } from "@tidings/client";
import { expect, it } from "vitest";
import { asProblem, problemAt, problemElsewhere } from "../../src/api/problem";

const INVALID = new ApiError(422, "input_invalid", "two things", [
  { place: "name", message: "is missing" },
  { place: "nodes[2].subject", message: "is empty" },
]);

it("finds what is wrong with a field and with what is inside it", () => {
  expect(problemAt(INVALID, "name")).toBe("is missing");
  expect(problemAt(INVALID, "nodes")).toBe("is empty");
  expect(problemAt(INVALID, "nod")).toBeUndefined();
  expect(problemAt(new Error("x"), "name")).toBeUndefined();
});

it("shows apart what no field shows", () => {
  expect(problemElsewhere(INVALID, ["name", "nodes"])).toBeNull();
  expect(problemElsewhere(INVALID, ["name"])).toBe(INVALID);
  expect(problemElsewhere(null, [])).toBeNull();
});

it("says in words that the server is away", () => {
  expect(asProblem(new ServerUnreachable("no answer")).detail).toMatch(/cannot be reached/);
});
