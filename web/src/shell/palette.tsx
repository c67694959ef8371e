import { Dialog as Radix } from "radix-ui";
import { type KeyboardEvent, useId, useState } from "react";
import { useLocation } from "wouter";
import { useSession, useSessionState } from "../api/session";
import type { Screen } from "../screens/registry";
import { text } from "../text";
import { ChoiceRow } from "../ui/combobox";
import comboboxStyles from "../ui/combobox.module.css";
import { useOfferedCommands } from "./commands";
import styles from "./palette.module.css";
import { ranked } from "./ranking";
import { chooseTheme, THEMES } from "./theme";

interface Entry {
  id: string;
  title: string;
  about: string;
  run: () => void;
}

/** Goes anywhere and does anything by a few letters. */
export function Palette({ screens, onClose }: { screens: readonly Screen[]; onClose: () => void }) {
  const [words, setWords] = useState("");
  const [active, setActive] = useState(0);
  const listId = useId();
  const found = ranked(useEntries(screens), words, (entry) => entry.title);
  const at = Math.min(active, found.length - 1);
  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (event.key === "Enter") run(found[at]);
    if (step && found.length) setActive((at + step + found.length) % found.length);
    if (step || event.key === "Enter") event.preventDefault();
  };
  return (
    <Radix.Root open onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className={styles.overlay} />
        <Radix.Content className={styles.palette} aria-describedby={undefined}>
          <Radix.Title className="visually-hidden">{text.palette.title}</Radix.Title>
          <input
            role="combobox"
            aria-label={text.palette.title}
            aria-expanded
            aria-controls={listId}
            aria-activedescendant={at >= 0 ? `${listId}-${at}` : undefined}
            className={styles.input}
            placeholder={text.palette.placeholder}
            value={words}
            autoFocus
            autoComplete="off"
            spellCheck={false}
            onChange={(event) => {
              setWords(event.target.value);
              setActive(0);
            }}
            onKeyDown={onKeyDown}
          />
          <div id={listId} role="listbox" aria-label={text.palette.title} className={styles.list}>
            {found.map((entry, place) => (
              <ChoiceRow
                key={entry.id}
                id={`${listId}-${place}`}
                choice={{ value: entry.id, label: entry.title, about: entry.about }}
                active={place === at}
                onChoose={() => run(entry)}
              />
            ))}
            {found.length === 0 && (
              <div role="option" aria-selected={false} aria-disabled className={comboboxStyles.empty}>
                {text.palette.empty}
              </div>
            )}
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

function useEntries(screens: readonly Screen[]): Entry[] {
  const [, navigate] = useLocation();
  const { workspace, workspaces } = useSession();
  const { chooseWorkspace, signOut } = useSessionState();
  const offered = useOfferedCommands();
  const reachable = screens.filter((one) => !one.path.includes(":"));
  return [
    ...offered.map((one) => ({ ...one, about: text.palette.do })),
    ...reachable.map(({ path, title, key }) => ({
      id: path,
      title,
      about: key ? `g ${key}` : text.palette.goTo,
      run: () => navigate(path),
    })),
    ...workspaces
      .filter((one) => one.workspace !== workspace)
      .map((one) => ({
        id: `workspace ${one.workspace}`,
        title: text.palette.switchTo(one.workspace),
        about: text.palette.do,
        run: () => {
          navigate("/");
          chooseWorkspace(one.workspace);
        },
      })),
    ...THEMES.map((theme) => ({
      id: `theme ${theme}`,
      title: text.palette.theme(text.shell.themes[theme].toLowerCase()),
      about: text.palette.do,
      run: () => chooseTheme(theme),
    })),
    { id: "sign-out", title: text.shell.signOut, about: text.palette.do, run: () => void signOut() },
  ];
}
