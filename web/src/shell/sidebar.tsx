import { Search } from "lucide-react";
import { Link, useLocation } from "wouter";
import { GROUPS, type Screen, sectionOf } from "../screens/registry";
import { text } from "../text";
import { cx } from "../ui/cx";
import { PersonMenu } from "./person-menu";
import styles from "./sidebar.module.css";
import { WorkspaceSwitcher } from "./workspace-switcher";

interface SidebarProps {
  screens: readonly Screen[];
  /** On a narrow window, where it covers the screen. */
  isOpen: boolean;
  onGo: () => void;
  onSearch: () => void;
}

/** The sections that the person may see, the workspace above them and the person below. */
export function Sidebar({ screens, isOpen, onGo, onSearch }: SidebarProps) {
  const [path] = useLocation();
  const current = sectionOf(path);
  return (
    <div className={cx(styles.sidebar, isOpen && styles.open)}>
      <div className={styles.top}>
        <WorkspaceSwitcher />
        <button type="button" className={styles.search} onClick={onSearch}>
          <Search size={14} aria-hidden />
          <span>{text.shell.search}</span>
          <kbd>{isMac() ? "⌘" : "Ctrl"} K</kbd>
        </button>
      </div>
      <nav aria-label={text.shell.sections} className={styles.sections}>
        {GROUPS.map((group) => {
          const listed = screens.filter((one) => one.group === group);
          if (listed.length === 0) return null;
          const name = text.shell.groups[group];
          return (
            <div key={group} className={styles.group}>
              {name && (
                <h2 id={`group-${group}`} className={styles.name}>
                  {name}
                </h2>
              )}
              <ul aria-labelledby={name ? `group-${group}` : undefined}>
                {listed.map((one) => (
                  <li key={one.path}>
                    <Entry screen={one} isCurrent={one === current} onGo={onGo} />
                  </li>
                ))}
              </ul>
            </div>
          );
        })}
      </nav>
      <PersonMenu />
    </div>
  );
}

function Entry({ screen, isCurrent, onGo }: { screen: Screen; isCurrent: boolean; onGo: () => void }) {
  const Icon = screen.icon;
  return (
    <Link
      href={screen.path}
      aria-current={isCurrent ? "page" : undefined}
      className={cx(styles.entry, isCurrent && styles.current)}
      onClick={onGo}
    >
      {Icon && <Icon size={16} strokeWidth={1.75} aria-hidden />}
      {screen.title}
    </Link>
  );
}

function isMac(): boolean {
  return /Mac|iPhone|iPad/.test(navigator.userAgent);
}
