/** Every screen, once: the router, the sidebar, the command palette and the `g` keys follow from this table. */
import type { Permission } from "@tidings/client";
import { Boxes, CalendarClock, CircleQuestionMark, Filter, Grid3x3, House, ListTree, type LucideIcon, Mails, Megaphone, OctagonAlert, Plug, Rocket, ScrollText, ServerCog, Users, UsersRound, Workflow, Zap } from "lucide-react";
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
  screen("/sequences", text.sequences.title, () => import("./sequences"), { group: "build", icon: CalendarClock, key: "q", permission: "readDefinitions" }),
  screen("/sequences/:id/steps/:step", text.sequences.title, () => import("./sequences/step"), { permission: "readDefinitions" }),
  screen("/sequences/:id/enrollments/:enrollment", text.sequences.title, () => import("./sequences/enrollment"), { permission: "readWork" }),
  screen("/sequences/:id", text.sequences.title, () => import("./sequences/detail"), { permission: "readDefinitions" }),
  screen("/rules", text.rules.title, () => import("./rules"), { group: "build", icon: Grid3x3, key: "u", permission: "readDefinitions" }),
  screen("/rules/:id", text.rules.title, () => import("./rules/rule"), { permission: "readDefinitions" }),
  screen("/executions", text.executions.title, () => import("./executions"), { group: "watch", icon: ListTree, key: "e", permission: "readWork" }),
  screen("/executions/:id", text.executions.title, () => import("./execution"), { permission: "readWork" }),
  screen("/runs", text.runs.title, () => import("./runs"), { group: "watch", icon: Rocket, key: "r", permission: "readWork" }),
  screen("/runs/:id", text.runs.title, () => import("./run"), { permission: "readWork" }),
  screen("/outbox", text.messages.title, () => import("./messages"), { group: "watch", icon: Mails, key: "m", permission: "readWork" }),
  screen("/outbox/:id", text.messages.title, () => import("./message"), { permission: "readWork" }),
  screen("/in-doubt", text.inDoubt.title, () => import("./in-doubt"), { group: "watch", icon: CircleQuestionMark, key: "d", permission: "readWork" }),
  screen("/errors", text.errors.title, () => import("./errors"), { group: "watch", icon: OctagonAlert, key: "x", permission: "readWork" }),
  screen("/errors/:id", text.errors.title, () => import("./failure-group"), { permission: "readWork" }),
  screen("/events", text.events.title, () => import("./events"), { group: "watch", icon: Zap, key: "v", permission: "readWork" }),
  screen("/events/explain", text.events.explain, () => import("./events/explain"), { permission: "readWork" }),
  screen("/events/:id", text.events.title, () => import("./events/event"), { permission: "readWork" }),
  screen("/campaigns", text.campaigns.title, () => import("./campaigns"), { group: "build", icon: Megaphone, key: "c", permission: "readDefinitions" }),
  screen("/campaigns/new", text.campaigns.create, () => import("./campaign"), { permission: "define" }),
  screen("/campaigns/:id", text.campaigns.title, () => import("./campaign"), { permission: "readDefinitions" }),
  screen("/contacts", text.contacts.title, () => import("./contacts"), { group: "people", icon: Users, key: "p", permission: "readContacts" }),
  screen("/contacts/import", text.importing.title, () => import("./import"), { permission: "contacts" }),
  screen("/contacts/:id", text.contacts.title, () => import("./contact"), { permission: "readContacts" }),
  screen("/segments", text.segments.title, () => import("./segments"), { group: "people", icon: Filter, key: "g", permission: "readDefinitions" }),
  screen("/segments/new", text.segments.noName, () => import("./segment"), { permission: "define" }),
  screen("/segments/:id", text.segments.title, () => import("./segment"), { permission: "readDefinitions" }),
  screen("/connections", text.connections.title, () => import("./connections"), { group: "settings", icon: Plug, key: "n", permission: "readDefinitions" }),
  screen("/connections/new", text.connections.add, () => import("./connections/new"), { permission: "administer" }),
  screen("/connections/:id/edit", text.connections.one, () => import("./connections/edit"), { permission: "administer" }),
  screen("/connections/:id", text.connections.one, () => import("./connections/detail"), { permission: "readDefinitions" }),
  screen("/people", text.people.title, () => import("./people"), { group: "settings", icon: UsersRound, key: "k", permission: "administer" }),
  screen("/people/keys", text.apiKeys.title, () => import("./people/keys"), { permission: "administer" }),
  screen("/people/:id", text.people.people, () => import("./people/detail"), { permission: "administer" }),
  screen("/audit-log", text.audit.title, () => import("./audit"), { group: "settings", icon: ScrollText, key: "l", permission: "administer" }),
  screen("/workers", text.workers.title, () => import("./workers"), { group: "settings", icon: ServerCog, key: "i", permission: "runWorkers" }),
  screen("/workspaces", text.workspaces.title, () => import("./workspaces"), { group: "settings", icon: Boxes, key: "o", permission: "operateInstallation" }),
  screen("/workspaces/:tenant/:workspace", text.workspaces.workspace, () => import("./workspaces/detail"), { permission: "operateInstallation" }),
  screen("/account", text.account.title, () => import("./account")),
];

/** The entry of the sidebar that a path belongs to. */
export function sectionOf(path: string): Screen | undefined {
  const listed = SCREENS.filter((one) => one.group);
  const fits = (one: Screen) => (one.path === "/" ? path === "/" : path === one.path || path.startsWith(`${one.path}/`));
  return listed.filter(fits).sort((one, other) => other.path.length - one.path.length)[0];
}
