import { describe, expect, it } from "vitest";
import { audienceOf, draftOf, filterOf, groupsOf } from "../../src/parts/audience/filter";

describe("the filter builder", () => {
  it.each([
    { tag: "vip" },
    { all: [{ tag: "vip" }, { path: "attributes.seats", op: "greater", value: 20 }, { allows: "email" }] },
    { any: [{ company: "Acme" }, { not: { tag: "test" } }] },
    { all: [{ any: [{ tag: "vip" }, { tag: "paid" }] }, { not: { any: [{ tag: "test" }, { status: "closed" }] } }] },
    { tags: { any: ["vip", "paid"] } },
    { consent: { email: "granted" } },
    { path: "createdAt", op: "after", value: "30 days ago" },
    { path: "attributes.trialEnds", op: "missing" },
    { path: "attributes.active", op: "equals", value: true },
    { path: "attributes.plan", op: "in", value: ["pro", "team"] },
  ])("shows a filter as rows and means the same by them: %j", (filter) => {
    expect(filterOf(groupsOf(filter) ?? [])).toEqual(filter);
  });

  it.each([{ any: [{ all: [{ any: [{ tag: "a" }] }] }] }, { path: ["attributes", "crm.id"], value: "7" }, { attributes: { address: { city: "Paris" } } }])(
    "leaves what has no rows to be edited as it is stored: %j",
    (filter) => {
      expect(groupsOf(filter)).toBeNull();
      expect(audienceOf(draftOf(filter))).toEqual(filter);
    },
  );

  it("leaves out rows that are not filled in", () => {
    expect(filterOf([{ join: "all", rows: [{ field: "tag", attribute: "", op: "is", value: " " }] }])).toBeNull();
  });

  it("keeps people who are named one by one, and says who is excluded as a group", () => {
    const draft = draftOf({ tag: "vip", exclude: { tag: "staff" }, contactIds: ["crm-1"] });
    expect(audienceOf(draft)).toEqual({ all: [{ tag: "vip" }, { not: { tag: "staff" } }], contactIds: ["crm-1"] });
  });

  it("writes to everyone only when that is chosen", () => {
    expect(audienceOf(draftOf(null))).toBeNull();
    expect(audienceOf(draftOf({ all: true }))).toEqual({ all: true });
  });
});
