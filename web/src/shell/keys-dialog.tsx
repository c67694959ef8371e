import { Fragment } from "react";
import type { Screen } from "../screens/registry";
import { text } from "../text";
import { Dialog } from "../ui/dialog";
import { useKnownShortcuts } from "./keys";
import styles from "./keys-dialog.module.css";

type Row = readonly [keys: string, label: string];

const LISTS: readonly Row[] = [
  ["↓ ↑", text.keys.move],
  ["Enter", text.keys.open],
  ["x", text.keys.select],
  ["Shift+x", text.keys.range],
  ["Home End", text.keys.first],
];

/** Every key that does something here. */
export function KeysDialog({ screens, onClose }: { screens: readonly Screen[]; onClose: () => void }) {
  const known = useKnownShortcuts();
  const go = screens.flatMap(({ key, title }): Row[] => (key ? [[`g ${key}`, title]] : []));
  const everywhere: Row[] = [
    ["Mod+k", text.keys.palette],
    ["/", text.keys.search],
    ["?", text.keys.help],
  ];
  const own = new Set([...everywhere, ...go].map(([keys]) => keys));
  const here = known.flat().filter((one) => !own.has(one.keys)).map(({ keys, label }): Row => [keys, label]);
  return (
    <Dialog open onClose={onClose} title={text.keys.title} wide>
      <div className={styles.columns}>
        <div className={styles.column}>
          <Part title={text.keys.everywhere} rows={everywhere} />
          <Part title={text.keys.lists} rows={LISTS} />
          {here.length > 0 && <Part title={text.keys.here} rows={here} />}
        </div>
        <div className={styles.column}>
          <Part title={text.keys.go} rows={go} />
        </div>
      </div>
    </Dialog>
  );
}

function Part({ title, rows }: { title: string; rows: readonly Row[] }) {
  return (
    <section>
      <h3>{title}</h3>
      <dl className={styles.rows}>
        {rows.map(([keys, label]) => (
          <Fragment key={keys}>
            <dt>{label}</dt>
            <dd>
              {keys.split(" ").map((key) => (
                <kbd key={key} className={styles.key}>
                  {key.replace("Mod+k", "Ctrl/⌘ K")}
                </kbd>
              ))}
            </dd>
          </Fragment>
        ))}
      </dl>
    </section>
  );
}
