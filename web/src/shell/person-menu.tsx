import { BookOpen, EllipsisVertical, LogOut, UserRound } from "lucide-react";
import { useState } from "react";
import { useSession, useSessionState } from "../api/session";
import { text } from "../text";
import { Menu, MenuChoice, MenuItem, MenuLink, MenuSeparator } from "../ui/menu";
import { toast } from "../ui/toast";
import { asProblem } from "../api/problem";
import styles from "./sidebar.module.css";
import { chooseTheme, THEMES, themeChosen } from "./theme";

/** Who is signed in, and what concerns only them. */
export function PersonMenu() {
  const { user } = useSession();
  const name = user.name || (user.email ?? text.shell.account);
  const { signOut } = useSessionState();
  const [theme, setTheme] = useState(themeChosen);
  const trigger = (
    <button type="button" className={styles.trigger}>
      <span className={styles.face} aria-hidden>
        {initials(name)}
      </span>
      <span className={styles.two}>
        <span>{name}</span>
        {user.name && user.email && <span>{user.email}</span>}
      </span>
      <EllipsisVertical size={14} aria-hidden />
    </button>
  );
  const leave = () => void signOut().catch((error: unknown) => toast(asProblem(error).detail, { bad: true }));
  return (
    <div className={styles.bottom}>
      <Menu trigger={trigger} side="top">
        <MenuLink href="/account" icon={<UserRound size={15} aria-hidden />}>
          {text.shell.account}
        </MenuLink>
        <MenuItem icon={<BookOpen size={15} aria-hidden />} onSelect={() => window.open("/docs", "_blank", "noopener")}>
          {text.shell.apiReference}
        </MenuItem>
        <MenuSeparator />
        <MenuChoice
          label={text.shell.theme}
          value={theme}
          options={THEMES.map((value) => ({ value, label: text.shell.themes[value] }))}
          onChange={(chosen) => {
            chooseTheme(chosen);
            setTheme(chosen);
          }}
        />
        <MenuSeparator />
        <MenuItem icon={<LogOut size={15} aria-hidden />} onSelect={leave}>
          {text.shell.signOut}
        </MenuItem>
      </Menu>
    </div>
  );
}

/** `Ada Lovelace` is AL, `ada@example.com` is A. */
export function initials(name: string): string {
  const words = name.replace(/@.*/, "").split(/\s+/).filter(Boolean);
  const ends = words.length > 1 ? [words[0], words.at(-1)] : words.slice(0, 1);
  return ends.map((word) => word?.charAt(0).toUpperCase() ?? "").join("");
}
