import { describe, expect, it } from "vitest";
import { SCREENS, sectionOf } from "../../src/screens/registry";

describe("the registry of screens", () => {
  it("has each path and each key once", () => {
    const paths = SCREENS.map((one) => one.path);
    const keys = SCREENS.flatMap((one) => one.key ?? []);

    expect(new Set(paths).size).toBe(paths.length);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("gives every section of the sidebar an icon and a key", () => {
    for (const one of SCREENS.filter(({ group }) => group)) {
      expect(one.icon, one.path).toBeDefined();
      expect(one.key, one.path).toMatch(/^[a-z]$/);
    }
  });

  it("knows to which section an address belongs", () => {
    expect(sectionOf("/")?.path).toBe("/");
    expect(sectionOf("/nowhere")).toBeUndefined();
  });
});
