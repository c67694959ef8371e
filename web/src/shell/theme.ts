export type Theme = "system" | "light" | "dark";

export const THEMES: readonly Theme[] = ["system", "light", "dark"];
const CHOSEN = "tidings.theme";
const systemDark = typeof window.matchMedia === "function" ? window.matchMedia("(prefers-color-scheme: dark)") : null;
const listeners = new Set<() => void>();

export function themeChosen(): Theme {
  const chosen = localStorage.getItem(CHOSEN);
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

/** What is on the screen, whoever chose it. */
export function themeNow(): "light" | "dark" {
  const chosen = themeChosen();
  if (chosen !== "system") return chosen;
  return systemDark?.matches ? "dark" : "light";
}

export function chooseTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(CHOSEN);
  else localStorage.setItem(CHOSEN, theme);
  applyTheme();
  for (const listener of listeners) listener();
}

/** Put the choice on the document; before anything is drawn. */
export function applyTheme(): void {
  const chosen = themeChosen();
  if (chosen === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
}

export function onThemeChange(listener: () => void): () => void {
  listeners.add(listener);
  systemDark?.addEventListener("change", listener);
  return () => {
    listeners.delete(listener);
    systemDark?.removeEventListener("change", listener);
  };
}
