import type { Permission } from "@tidings/client";
import { Menu as MenuIcon } from "lucide-react";
import { Suspense, useEffect, useRef, useState } from "react";
import { Route, Switch, useLocation } from "wouter";
import { useSession } from "../api/session";
import { NotFound } from "../screens/not-found";
import { type Screen, SCREENS, type ScreenProps } from "../screens/registry";
import { text } from "../text";
import { EmptyState } from "../ui/empty-state";
import { IconButton } from "../ui/icon-button";
import { Page } from "../ui/page";
import { Skeleton } from "../ui/skeleton";
import { Boundary } from "./boundary";
import { KeysDialog } from "./keys-dialog";
import { useShortcuts } from "./keys";
import { Palette } from "./palette";
import styles from "./shell.module.css";
import { Sidebar } from "./sidebar";

/** What stands around every screen. */
export function Shell() {
  const { permissions } = useSession();
  const [path, navigate] = useLocation();
  const [palette, setPalette] = useState(false);
  const [keys, setKeys] = useState(false);
  const [menu, setMenu] = useState(false);
  const main = useRef<HTMLElement>(null);
  const allowed = SCREENS.filter((one) => isAllowed(one, permissions));

  useShortcuts([
    { keys: "Mod+k", label: text.keys.palette, run: () => setPalette(true) },
    { keys: "?", label: text.keys.help, run: () => setKeys(true) },
    { keys: "/", label: text.keys.search, run: () => main.current?.querySelector<HTMLElement>("[data-search]")?.focus() },
    ...allowed.flatMap(({ key, title, path: to }) => (key ? [{ keys: `g ${key}`, label: title, run: () => navigate(to) }] : [])),
  ]);
  useFocusOnMove(path, main);

  return (
    <div className={styles.shell}>
      <a href="#main" className={styles.skip}>
        {text.common.skipToContent}
      </a>
      <div className={styles.narrowBar}>
        <IconButton label={menu ? text.shell.closeMenu : text.shell.openMenu} aria-expanded={menu} onClick={() => setMenu(!menu)}>
          <MenuIcon size={18} aria-hidden />
        </IconButton>
        <strong>{text.common.product}</strong>
      </div>
      <Sidebar screens={allowed} isOpen={menu} onGo={() => setMenu(false)} onSearch={() => setPalette(true)} />
      <main id="main" ref={main} tabIndex={-1} className={styles.main}>
        <Boundary key={path}>
          <Suspense fallback={<Loading />}>
            <Routes permissions={permissions} />
          </Suspense>
        </Boundary>
      </main>
      {palette && <Palette screens={allowed} onClose={() => setPalette(false)} />}
      {keys && <KeysDialog screens={allowed} onClose={() => setKeys(false)} />}
    </div>
  );
}

function Routes({ permissions }: { permissions: readonly Permission[] }) {
  return (
    <Switch>
      {SCREENS.map((one) => (
        <Route key={one.path} path={one.path}>
          {(params: ScreenProps["params"]) =>
            isAllowed(one, permissions) ? <one.component params={params} /> : <Refused title={one.title} />
          }
        </Route>
      ))}
      <Route>
        <NotFound />
      </Route>
    </Switch>
  );
}

function isAllowed(screen: Screen, permissions: readonly Permission[]): boolean {
  return screen.permission === undefined || permissions.includes(screen.permission);
}

function Refused({ title }: { title: string }) {
  return (
    <Page title={title}>
      <EmptyState title={text.problems.noPermissionTitle} about={text.problems.noPermission} />
    </Page>
  );
}

function Loading() {
  return (
    <div className={styles.loading}>
      <Skeleton lines={4} />
    </div>
  );
}

/** Readers of the screen start at the new screen's top, not at the link that was followed. */
function useFocusOnMove(path: string, main: React.RefObject<HTMLElement | null>): void {
  const before = useRef(path);
  useEffect(() => {
    if (before.current === path) return;
    before.current = path;
    main.current?.focus({ preventScroll: true });
  }, [path, main]);
}
