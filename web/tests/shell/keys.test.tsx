import { render } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeAll, beforeEach, expect, it } from "vitest";
import { listenForKeys, useShortcuts } from "../../src/shell/keys";

const pressed: string[] = [];

function Screen() {
  useShortcuts(["g h", "?", "Mod+k"].map((keys) => ({ keys, label: keys, run: () => pressed.push(keys) })));
  return <input aria-label="Field" />;
}

beforeAll(listenForKeys);
beforeEach(() => {
  pressed.length = 0;
  render(<Screen />);
});

it("reads one key and two in a row", async () => {
  await userEvent.keyboard("gh?");

  expect(pressed).toEqual(["g h", "?"]);
});

it("leaves somebody who types alone, but for keys that are held with Ctrl or Cmd", async () => {
  document.querySelector("input")?.focus();

  await userEvent.keyboard("gh?{Control>}k{/Control}");

  expect(pressed).toEqual(["Mod+k"]);
});
