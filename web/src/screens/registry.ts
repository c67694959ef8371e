/** Every screen, once: the router, the sidebar, the command palette and the `g` keys follow from this table. */
import type { Permission } from "@tidings/client";
import { Filter, House, type LucideIcon, Megaphone, Users, Workflow } from "lucide-react";
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
  screen("/workflows", text.workflows.title, () => import("./workflows"), { group: "build", icon: Workflow, key: "w", permission: "readDefinitions" }),
  screen("/workflows/:id/edit", text.workflows.title, () => import("./workflows/editor"), { permission: "readDefinitions" }),
  screen("/workflows/:id", text.workflows.title, () => import("./workflows/detail"), { permission: "readDefinitions" }),
  screen("/campaigns", text.campaigns.title, () => import("./campaigns"), { group: "build", icon: Megaphone, key: "c", permission: "readDefinitions" }),
  screen("/campaigns/new", text.campaigns.create, () => import("./campaign"), { permission: "define" }),
  screen("/campaigns/:id", text.campaigns.title, () => import("./campaign"), { permission: "readDefinitions" }),
  screen("/contacts", text.contacts.title, () => import("./contacts"), { group: "people", icon: Users, key: "p", permission: "readContacts" }),
  screen("/contacts/import", text.importing.title, () => import("./import"), { permission: "contacts" }),
  screen("/contacts/:id", text.contacts.title, () => import("./contact"), { permission: "readContacts" }),
  screen("/segments", text.segments.title, () => import("./segments"), { group: "people", icon: Filter, key: "g", permission: "readDefinitions" }),
  screen("/segments/new", text.segments.noName, () => import("./segment"), { permission: "define" }),
  screen("/segments/:id", text.segments.title, () => import("./segment"), { permission: "readDefinitions" }),
  screen("/account", text.account.title, () => import("./account")),
];

/** The entry of the sidebar that a path belongs to. */
export function sectionOf(path: string): Screen | undefined {
  const listed = SCREENS.filter((one) => one.group);
  const fits = (one: Screen) => (one.path === "/" ? path === "/" : path === one.path || path.startsWith(`${one.path}/`));
  return listed.filter(fits).sort((one, other) => other.path.length - one.path.length)[0];
}
