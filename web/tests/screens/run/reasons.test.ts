import { expect, it } from "vitest";
import { reasonsOf, withoutDetails } from "../../../src/screens/run/reasons";

it("puts errors together that differ in addresses, ids and numbers, the most first", () => {
  const reasons = reasonsOf({
    "450 greylisted": 1,
    "550 5.1.1 <ada@example.com>: no such user": 1,
    "550 5.1.1 <bob@example.com>: no such user": 2,
  });

  expect(reasons).toEqual([
    { text: "550 5.1.1 <‹address›>: no such user", count: 3, part: ">: no such user" },
    { text: "450 greylisted", count: 1, part: "450 greylisted" },
  ]);
});

it("keeps the codes of an answer and leaves other numbers out", () => {
  expect(withoutDetails("552 5.2.2 mailbox full (quota 485 MB)")).toBe("552 5.2.2 mailbox full (quota # MB)");
});
