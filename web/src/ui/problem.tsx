import { TriangleAlert } from "lucide-react";
import { asProblem } from "../api/problem";
import { text } from "../text";
import { Button } from "./button";
import { CopyButton } from "./id";
import styles from "./problem.module.css";

/** What went wrong, in the API's own words, with the id under which the server's log has more. */
export function Problem({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const problem = asProblem(error);
  const places = problem.errors.filter((one) => !problem.detail.includes(one.message));
  return (
    <div role="alert" className={styles.problem}>
      <TriangleAlert size={16} aria-hidden />
      <div className={styles.words}>
        <p>{problem.detail}</p>
        {places.length > 0 && (
          <ul>
            {places.map((one) => (
              <li key={`${one.place}:${one.message}`}>
                {one.place && <code>{one.place}</code>} {one.message}
              </li>
            ))}
          </ul>
        )}
        {problem.requestId && (
          <p className={styles.request}>
            {text.common.request} <code>{problem.requestId}</code>
            <CopyButton value={problem.requestId} label={text.common.copyId} />
          </p>
        )}
      </div>
      {onRetry && (
        <Button small onClick={onRetry}>
          {text.common.retry}
        </Button>
      )}
    </div>
  );
}
