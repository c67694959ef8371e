import { expect, it } from "vitest";
import { initials } from "../../src/shell/person-menu";
import { ranked } from "../../src/shell/ranking";

it("puts the beginning first, then the beginning of a word, then letters in order", () => {
  const names = ["Executions", "Your account", "Theme: light", "Home", "In doubt"];

  expect(ranked(names, "h", (name) => name)).toEqual(["Home", "Theme: light"]);
  expect(ranked(names, "acc", (name) => name)).toEqual(["Your account"]);
  expect(ranked(names, "idt", (name) => name)).toEqual(["In doubt"]);
  expect(ranked(names, "", (name) => name)).toEqual(names);
});

it("shortens names and addresses", () => {
  expect(initials("Ada Lovelace")).toBe("AL");
  expect(initials("ada@example.com")).toBe("A");
});
