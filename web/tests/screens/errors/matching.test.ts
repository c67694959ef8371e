import type { FailureGroup } from "@tidings/client";
import { expect, it } from "vitest";
import { matching } from "../../../src/screens/errors/matching";

const group = (text: string, workflows: string[] = []) => ({ text, example: text, providers: ["smtp"], channels: ["email"], workflows, campaigns: [] }) as unknown as FailureGroup;

it("finds a group by words of its error and of where it happened", () => {
  const groups = [group("mailbox full", ["welcome"]), group("no such user", ["welcome"]), group("mailbox full", ["order"])];

  expect(matching(groups, "Mailbox welc")).toEqual([groups[0]]);
  expect(matching(groups, " ")).toEqual(groups);
});
