import type { Channel, ExecutionPath, LogItem, LogLine } from "@tidings/client";
import { X } from "lucide-react";
import { Link } from "wouter";
import { SentMessage } from "../../parts/message/sent-message";
import { JsonView } from "../../parts/work/json-view";
import { Note } from "../../parts/work/note";
import { stateInLog } from "../../parts/work/names";
import { text } from "../../text";
import { IconButton } from "../../ui/icon-button";
import { KeyValue } from "../../ui/key-value";
import { Section } from "../../ui/page";
import { Status, wordsOf } from "../../ui/status";
import { Time } from "../../ui/time";
import { duration } from "../../ui/times";
import styles from "./execution.module.css";
import { toneOfNode } from "./path-marks";

const words = text.executions;

interface NodePanelProps {
  node: string;
  line: LogLine | undefined;
  path: ExecutionPath | undefined;
  onClose: () => void;
}

/** One node: what became of it, what it saw, what it sent and what it produced. */
export function NodePanel({ node, line, path, onClose }: NodePanelProps) {
  const place = path?.nodes.find((one) => one.id === node);
  const kind = line?.kind ?? place?.type ?? "";
  return (
    <div className={styles.panel}>
      <header className={styles.panelHead}>
        <h2>{node === "onError" ? words.onError : node}</h2>
        {place && (
          <Status state={place.state} tone={toneOfNode(place)}>
            {words.nodeStates[place.state]}
          </Status>
        )}
        <span className={styles.quiet}>{text.graph.kinds[kind] ?? kind}</span>
        <IconButton label={words.closeNode} small onClick={onClose} className={styles.close}>
          <X size={16} aria-hidden />
        </IconButton>
      </header>
      {place?.state === "notReached" && <p className={styles.quiet}>{words.notReached}</p>}
      {place?.why && place.state !== "notReached" && !line?.error && <Note tone={place.state === "failed" ? "bad" : "info"}>{place.why}</Note>}
      {line && <Told line={line} />}
    </div>
  );
}

function Told({ line }: { line: LogLine }) {
  return (
    <>
      {line.error && <Note tone="bad">{line.error}</Note>}
      <KeyValue
        pairs={[
          [text.work.status, <Status key="status" state={stateInLog(line.status)} />],
          [words.attempts, line.attempts > 1 ? line.attempts : undefined],
          [words.began, line.startedAt && <Time key="began" at={line.startedAt} exact />],
          [words.endedAt, line.endedAt && <Time key="ended" at={line.endedAt} exact />],
          [words.duration, line.durationMs === null ? undefined : duration(line.durationMs / 1000)],
        ]}
      />
      {line.items.map((item) => (
        <SentItem key={item.id} item={item} />
      ))}
      {isThere(line.produced) && (
        <Section title={words.produced}>
          <JsonView value={line.produced} label={words.produced} />
        </Section>
      )}
      <Section title={words.saw}>
        <Saw line={line} />
      </Section>
    </>
  );
}

function isThere(value: unknown): boolean {
  return value !== null && value !== undefined && Object.keys(value).length > 0;
}

function Saw({ line: { context } }: { line: LogLine }) {
  return (
    <div className={styles.saw}>
      <h3>{words.sawData}</h3>
      <JsonView value={context.data} label={words.sawData} />
      {isThere(context.vars) && (
        <>
          <h3>{words.sawVars}</h3>
          <JsonView value={context.vars} label={words.sawVars} />
        </>
      )}
      {context.leftOut.length > 0 && <p className={styles.quiet}>{words.leftOut(context.leftOut.join(", "))}</p>}
    </div>
  );
}

/** One message or call of the node, exactly as its provider got it. */
function SentItem({ item }: { item: LogItem }) {
  const payload = item.saw as Record<string, unknown> | null;
  const open = <Link href={`/outbox/${item.id}`}>{words.openMessage}</Link>;
  return (
    <Section title={item.recipient || wordsOf(item.channel)} about={[item.provider, item.messageId].filter(Boolean).join(" · ")} actions={open}>
      {item.error && <Note tone={item.status === "in_doubt" ? "doubt" : "bad"}>{item.error}</Note>}
      {payload && <SentMessage channel={item.channel as Channel} recipient={item.recipient} payload={payload} />}
    </Section>
  );
}
