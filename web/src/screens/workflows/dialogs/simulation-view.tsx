import { text } from "../../../text";
import { wordsOf } from "../../../ui/status";
import { Time } from "../../../ui/time";
import { count } from "../../../ui/times";
import { KindIcon } from "../../../parts/graph/kinds";
import type { Simulation } from "../api";
import styles from "./dialogs.module.css";

const words = text.workflows.simulate;

/** What would be sent by each node, and why some would not. */
export function SimulationView({ simulation }: { simulation: Simulation }) {
  const figures = (["sent", "skipped", "failed", "waiting"] as const).map((name) => [words[name], simulation[name]] as const);
  const reasons = [...simulation.failedBecause, ...simulation.skippedBecause];
  return (
    <div className={styles.stack}>
      <dl className={styles.figures}>
        {figures.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{count(value)}</dd>
          </div>
        ))}
        <div>
          <dt>{words.ended}</dt>
          <dd className={styles.small}>
            {Object.entries(simulation.ended)
              .map(([status, number]) => `${count(number)} ${wordsOf(status).toLowerCase()}`)
              .join(", ")}
          </dd>
        </div>
      </dl>
      {simulation.steps.length === 0 ? <p>{words.nothing}</p> : <Steps simulation={simulation} />}
      {reasons.length > 0 && (
        <div>
          <h3>{words.because}</h3>
          <ul className={styles.reasons}>
            {reasons.map((one) => (
              <li key={`${one.step}${one.reason}`}>
                <b>{count(one.count)}</b> <code>{one.step}</code> {one.reason}
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

function Steps({ simulation }: { simulation: Simulation }) {
  return (
    <table className={styles.steps}>
      <thead>
        <tr>
          {[words.step, words.sent, words.skipped, words.failed, words.first, words.last].map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {simulation.steps.map((one) => (
          <tr key={one.step}>
            <th scope="row">
              <KindIcon type={one.channel} size={14} /> {one.step}
            </th>
            <td>{count(one.sent)}</td>
            <td>{count(one.skipped)}</td>
            <td>{count(one.failed)}</td>
            <td>
              <Time at={one.firstAt} />
            </td>
            <td>
              <Time at={one.lastAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
