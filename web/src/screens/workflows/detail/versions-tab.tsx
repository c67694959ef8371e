import { useState } from "react";
import { EMPTY } from "../../../parts/graph/definition";
import { text } from "../../../text";
import { Problem } from "../../../ui/problem";
import { Select } from "../../../ui/select";
import { Skeleton } from "../../../ui/skeleton";
import { Time } from "../../../ui/time";
import { cx } from "../../../ui/cx";
import { useVersions, type Version } from "../api";
import { DifferenceView } from "../dialogs/difference-view";
import styles from "./detail.module.css";

const words = text.workflows.detail;
const NOTHING = "0";

/** Every version with who is under way on it, and the difference between any two. */
export function VersionsTab({ id }: { id: string }) {
  const { versions, error } = useVersions(id);
  const [chosen, setChosen] = useState<number>();
  const [other, setOther] = useState<string>();
  if (error) return <Problem error={error} />;
  const [newest] = versions ?? [];
  if (!versions || !newest) return <Skeleton lines={5} />;
  const current = versions.find((one) => one.number === chosen) ?? newest;
  const before = versions.find((one) => String(one.number) === (other ?? String(current.number - 1)));
  const options = [...versions.filter((one) => one !== current).map((one) => ({ value: String(one.number), label: text.workflows.versionOf(one.number) })), { value: NOTHING, label: text.workflows.difference.nothing }];
  const choose = (number: number) => {
    setChosen(number);
    setOther(undefined);
  };
  return (
    <div className={styles.versions}>
      <div>
        <ul className={styles.list}>
          {versions.map((version) => (
            <VersionRow key={version.id} version={version} isNewest={version === newest} isChosen={version === current} onChoose={() => choose(version.number)} />
          ))}
        </ul>
        <p className={styles.quiet}>{words.older}</p>
      </div>
      <section aria-label={words.compare} className={styles.compared}>
        <header>
          <h2>{text.workflows.versionOf(current.number)}</h2>
          <label>
            {words.compareWith} <Select small value={before ? String(before.number) : NOTHING} options={options} onChange={setOther} />
          </label>
        </header>
        <DifferenceView before={before?.definition ?? EMPTY} after={current.definition} empty={words.same} />
      </section>
    </div>
  );
}

interface VersionRowProps {
  version: Version;
  isNewest: boolean;
  isChosen: boolean;
  onChoose: () => void;
}

function VersionRow({ version, isNewest, isChosen, onChoose }: VersionRowProps) {
  return (
    <li>
      <button type="button" aria-pressed={isChosen} className={cx(styles.version, isChosen && styles.chosen)} onClick={onChoose}>
        <b>
          {text.workflows.versionOf(version.number)}
          {isNewest && <i>{words.newest}</i>}
        </b>
        <span>
          <Time at={version.createdAt} />
        </span>
        <span className={cx((version.inFlight ?? 0) > 0 && styles.busy)}>{words.inFlightHere(version.inFlight ?? 0)}</span>
      </button>
    </li>
  );
}
