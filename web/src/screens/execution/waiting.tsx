import type { Execution, ExecutionPath } from "@tidings/client";
import { Note } from "../../parts/work/note";
import { text } from "../../text";
import { Time } from "../../ui/time";
import { toneOfWaiting } from "./timeline";

const words = text.executions;

/** Why nothing happens just now and until when; what went wrong once it has failed. */
export function Waiting({ execution, path }: { execution: Execution; path: ExecutionPath | undefined }) {
  if (execution.errorMessage && execution.status === "failed") {
    return (
      <Note tone="bad">
        {execution.errorStep && <b>{execution.errorStep}</b>}
        <span>{execution.errorMessage}</span>
      </Note>
    );
  }
  if (execution.status === "paused") return <Note tone="warn">{words.isPaused}</Note>;
  const waiting = path?.nodes.filter((node) => node.state === "waiting") ?? [];
  return waiting.map((node) => (
    <Note key={node.id} tone={noteTone(toneOfWaiting(node))}>
      <b>{node.id}</b>
      <span>{node.why ?? words.waitsFor}</span>
      {node.until && (
        <span>
          {words.until} <Time at={node.until} exact /> (<Time at={node.until} />)
        </span>
      )}
    </Note>
  ));
}

function noteTone(tone: string): "info" | "warn" | "doubt" {
  return tone === "doubt" || tone === "warn" ? tone : "info";
}
