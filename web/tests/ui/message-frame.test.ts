import { expect, it } from "vitest";
import { loadsImages } from "../../src/ui/message-frame";

it("notices images from elsewhere, and only those", () => {
  expect(loadsImages('<img src="https://example.com/pixel.gif">')).toBe(true);
  expect(loadsImages("<td style=\"background: url('//example.com/a.png')\">")).toBe(true);
  expect(loadsImages('<img alt="" src="data:image/png;base64,AA">')).toBe(false);
  expect(loadsImages('<a href="https://example.com">a</a>')).toBe(false);
});
