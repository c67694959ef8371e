import { useMemo } from "react";
import { conditionInWords } from "../../../parts/graph/conditions";
import { type Definition, isObject, type Json } from "../../../parts/graph/definition";
import { KindIcon } from "../../../parts/graph/kinds";
import { text } from "../../../text";
import { cx } from "../../../ui/cx";
import { differenceOf, type FieldChange, isEmpty, type PartChange } from "../model/difference";
import { lineDifference } from "../model/lines";
import styles from "./difference.module.css";

const words = text.workflows.difference;

/** What changed from one definition to another, part by part. */
export function DifferenceView({ before, after, empty }: { before: Definition; after: Definition; empty: string }) {
  const difference = useMemo(() => differenceOf(before, after), [before, after]);
  if (isEmpty(difference)) return <p className={styles.quiet}>{empty}</p>;
  return (
    <ul className={styles.parts}>
      {difference.nodes.map((part) => (
        <Part key={`n${part.key}`} part={part} isNode />
      ))}
      {difference.edges.map((part) => (
        <Part key={`e${part.key}`} part={part} />
      ))}
      {difference.options.length > 0 && (
        <li className={styles.part}>
          <header>
            <b>{words.options}</b>
          </header>
          <Fields changes={difference.options} />
        </li>
      )}
      {difference.isReordered && <li className={cx(styles.part, styles.quiet)}>{words.reordered}</li>}
    </ul>
  );
}

function Part({ part, isNode }: { part: PartChange; isNode?: boolean }) {
  return (
    <li className={cx(styles.part, styles[part.change])}>
      <header>
        {isNode && <KindIcon type={part.type} size={15} />}
        <b>{part.key}</b>
        <span className={styles.change}>{words[part.change]}</span>
      </header>
      {part.change === "changed" || part.fields.length > 0 ? <Fields changes={part.fields.filter(({ field }) => field !== "type")} /> : null}
    </li>
  );
}

function Fields({ changes }: { changes: readonly FieldChange[] }) {
  return (
    <dl className={styles.fields}>
      {changes.map((change) => (
        <div key={change.field}>
          <dt>{change.field}</dt>
          <dd>
            <Change change={change} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Long texts line by line; short values one after the other. */
function Change({ change: { field, before, after } }: { change: FieldChange }) {
  const [was, is] = [shown(field, before), shown(field, after)];
  const isLong = [was, is].some((one) => one?.includes("\n")) && was !== undefined && is !== undefined;
  if (isLong) return <Lines before={was} after={is} />;
  return (
    <>
      {was !== undefined && <del aria-label={`${words.before}: ${was}`}>{was || words.nothing}</del>}
      {is !== undefined && <ins aria-label={`${words.after}: ${is}`}>{is || words.nothing}</ins>}
    </>
  );
}

function Lines({ before, after }: { before: string; after: string }) {
  const lines = useMemo(() => lineDifference(before, after), [before, after]);
  return (
    <pre className={styles.lines}>
      {lines.map((line, place) => (
        <span key={place} className={styles[line.kind]}>
          <i aria-hidden>{line.kind === "added" ? "+" : line.kind === "removed" ? "−" : " "}</i>
          {line.text || " "}
        </span>
      ))}
    </pre>
  );
}

function shown(field: string, value: Json | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (field === "condition" && isObject(value)) return conditionInWords(value);
  return typeof value === "string" ? value : JSON.stringify(value, null, isObject(value) && JSON.stringify(value).length > 60 ? 2 : undefined);
}
