import { describe, expect, it } from "vitest";
import { actorOf, detailInWords, kindInWords, placeOf } from "../../src/screens/audit/words";

describe("a line of the audit log", () => {
  it("says whether a person or a key did it", () => {
    expect(actorOf("user:ada@example.com")).toEqual({ kind: "person", name: "ada@example.com" });
    expect(actorOf("key:signup form")).toEqual({ kind: "key", name: "signup form" });
    expect(actorOf("ann")).toEqual({ kind: "system", name: "ann" });
  });

  it("says what was changed in one line", () => {
    expect(detailInWords({ name: "welcome", fields: ["limits", "position"], sendHour: 9, gone: null, where: { a: 1 } })).toBe(
      'name: welcome · fields: limits, position · send hour: 9 · where: {"a":1}',
    );
  });

  it("leads to what it is about, unless that is gone", () => {
    const line = { subjectKind: "connection", subjectId: "1", event: "updated" };

    expect(placeOf(line)).toBe("/connections/1");
    expect(placeOf({ ...line, event: "deleted" })).toBeUndefined();
    expect(placeOf({ ...line, subjectKind: "api_key" })).toBeUndefined();
  });

  it("calls things by their names", () => {
    expect(kindInWords("api_key")).toBe("API key");
    expect(kindInWords("dead_letter")).toBe("Failed execution");
    expect(kindInWords("workflow")).toBe("Workflow");
  });
});
