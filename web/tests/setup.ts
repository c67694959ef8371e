import { cleanup } from "@testing-library/react";
import { afterEach } from "vitest";

// jsdom lays nothing out; lists draw what fits into this.
Object.defineProperty(Element.prototype, "clientHeight", { configurable: true, get: () => 720 });
Object.defineProperty(Element.prototype, "clientWidth", { configurable: true, get: () => 1280 });
HTMLElement.prototype.scrollTo = () => undefined;

afterEach(() => {
  cleanup();
  localStorage.clear();
  sessionStorage.clear();
});
