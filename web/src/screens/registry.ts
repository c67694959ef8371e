/** Every screen, once: the router, the sidebar, the command palette and the `g` keys follow from this table. */
import type { Permission } from "@tidings/client";
import { House, type LucideIcon } from "lucide-react";
import { type ComponentType, lazy, type LazyExoticComponent } from "react";
import { text } from "../text";

/** What a screen gets from the router: the parts of its path, `{ id: "…" }`. */
export interface ScreenProps {
  params: Readonly<Record<string, string>>;
}

export type Group = "home" | "build" | "watch" | "people" | "settings";

export interface Screen {
  /** As wouter reads it: `/workflows/:id`. Below a path that is listed, the sidebar shows that one as current. */
  path: string;
  title: string;
  /** Where it stands in the sidebar; a detail has no place there. */
  group?: Group;
  icon?: LucideIcon;
  /** What a role needs to see it; nothing for everybody who is signed in. */
  permission?: Permission;
  /** `g` and then this letter goes there. */
  key?: string;
  component: LazyExoticComponent<ComponentType<ScreenProps>>;
}

type Loader = () => Promise<{ default: ComponentType<ScreenProps> }>;

function screen(path: string, title: string, load: Loader, more: Omit<Screen, "path" | "title" | "component"> = {}): Screen {
  return { path, title, ...more, component: lazy(load) };
}

export const GROUPS: readonly Group[] = ["home", "build", "watch", "people", "settings"];

/** The first path that fits is shown, so `/workflows/new` comes before `/workflows/:id`. */
export const SCREENS: readonly Screen[] = [
  screen("/", text.home.title, () => import("./home"), { group: "home", icon: House, key: "h", permission: "readWork" }),
  screen("/account", text.account.title, () => import("./account")),
];

/** The entry of the sidebar that a path belongs to. */
export function sectionOf(path: string): Screen | undefined {
  const listed = SCREENS.filter((one) => one.group);
  const fits = (one: Screen) => (one.path === "/" ? path === "/" : path === one.path || path.startsWith(`${one.path}/`));
  return listed.filter(fits).sort((one, other) => other.path.length - one.path.length)[0];
}
