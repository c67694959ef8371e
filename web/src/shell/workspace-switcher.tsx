import { ChevronsUpDown } from "lucide-react";
import { useLocation } from "wouter";
import { useSession, useSessionState } from "../api/session";
import { text } from "../text";
import { Menu, MenuChoice } from "../ui/menu";
import { cx } from "../ui/cx";
import { Logo } from "./logo";
import styles from "./sidebar.module.css";

/** The workspace that everything on the page belongs to. */
export function WorkspaceSwitcher() {
  const { workspace, workspaces, tenant } = useSession();
  const { chooseWorkspace } = useSessionState();
  const [, navigate] = useLocation();
  const names = (
    <>
      <span className={styles.mark}>
        <Logo />
      </span>
      <span className={styles.two}>
        <span>{workspace ?? text.shell.noWorkspace}</span>
        <span>{tenant}</span>
      </span>
    </>
  );
  if (workspaces.length < 2) return <div className={cx(styles.trigger, styles.still)}>{names}</div>;
  const trigger = (
    <button type="button" className={styles.trigger} aria-label={`${text.shell.switchWorkspace}: ${workspace ?? ""}`}>
      {names}
      <ChevronsUpDown size={14} aria-hidden />
    </button>
  );
  const choose = (chosen: string) => {
    navigate("/");
    chooseWorkspace(chosen);
  };
  return (
    <Menu trigger={trigger}>
      <MenuChoice
        label={text.shell.workspace}
        value={workspace ?? ""}
        options={workspaces.map((one) => ({ value: one.workspace, label: one.workspace }))}
        onChange={choose}
      />
    </Menu>
  );
}
