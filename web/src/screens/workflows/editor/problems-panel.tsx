import { text } from "../../../text";
import type { PartProblem } from "../model/places";
import { useEditing } from "./editing";
import styles from "./editor.module.css";

const words = text.workflows.editor;

/** Everything that keeps the draft from being published; each leads to its place. */
export function ProblemsPanel() {
  const { problems, select, show } = useEditing();
  return (
    <div className={styles.column}>
      <header className={styles.panelHead}>
        <div>
          <h2>{problems.count ? text.graph.problems(problems.count) : words.noProblems}</h2>
        </div>
      </header>
      <ul className={styles.problemList}>
        {[...problems.nodes].map(([key, list]) => (
          <Place key={`n${key}`} name={key} problems={list} onGo={() => select({ nodes: [key] }, "form")} />
        ))}
        {[...problems.edges].map(([key, list]) => (
          <Place key={`e${key}`} name={key} problems={list} onGo={() => select({ edge: key }, "form")} />
        ))}
        {problems.options.length > 0 && <Place name={words.options} problems={problems.options} onGo={() => show("options")} />}
      </ul>
    </div>
  );
}

function Place({ name, problems, onGo }: { name: string; problems: readonly PartProblem[]; onGo: () => void }) {
  return (
    <li>
      <button type="button" className={styles.problemPlace} onClick={onGo}>
        <code>{name}</code>
        {problems.map((one) => (
          <span key={`${one.field}${one.message}`}>
            {one.field && <i>{one.field}</i>} {one.message}
          </span>
        ))}
      </button>
    </li>
  );
}
