import { isNotFound } from "../../api/queries";
import { ContactLink } from "../../parts/work/contact-link";
import { Note } from "../../parts/work/note";
import { text } from "../../text";
import { EmptyState } from "../../ui/empty-state";
import { Id } from "../../ui/id";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Status } from "../../ui/status";
import { useQueryValue } from "../../ui/use-query";
import type { ScreenProps } from "../registry";
import { Actions } from "./actions";
import styles from "./execution.module.css";
import { Facts } from "./facts";
import { NodePanel } from "./node-panel";
import { PathGraph } from "./path-graph";
import { TimelineView } from "./timeline-view";
import { useExecution } from "./use-execution";
import { Waiting } from "./waiting";

const words = text.executions;

/** One execution: the path it took, what happened when, why it waits, and what each node saw and sent. */
export default function ExecutionScreen({ params }: ScreenProps) {
  const id = params["id"] ?? "";
  const { execution, log, path, error, isLost } = useExecution(id);
  const [node, setNode] = useQueryValue("node");
  const one = execution.data;
  const back = { href: "/executions", label: words.title };
  if (!one) {
    return (
      <Page title={words.title} back={back}>
        {isNotFound(error) ? <EmptyState title={text.notFound.title} about={words.nothingFits} /> : error ? <Problem error={error} /> : <Skeleton lines={6} />}
      </Page>
    );
  }
  const select = (key: string | undefined) => setNode(key ?? "");
  const line = log?.find((each) => each.node === node);
  return (
    <Page
      title={one.workflowName}
      count={words.version(one.workflowVersion)}
      status={<Status state={one.status} />}
      back={back}
      actions={<Actions execution={one} />}
      bar={
        <div className={styles.strip}>
          <ContactLink contact={one.contact} contactId={one.contactId} />
          <Id id={one.id} whole />
        </div>
      }
      fill
    >
      <div className={styles.notes}>
        {isLost && <Note tone="warn">{words.lost}</Note>}
        {error && <Problem error={error} />}
        <Waiting execution={one} path={path} />
      </div>
      <div className={styles.panes}>
        <section className={styles.graph} aria-label={words.graph}>
          {path ? <PathGraph path={path} selected={node || undefined} onSelect={select} /> : <Skeleton />}
        </section>
        <div className={styles.side}>
          {node ? (
            <NodePanel node={node} line={line} path={path} onClose={() => setNode("")} />
          ) : (
            <>
              <TimelineView execution={one} log={log} path={path} onSelect={setNode} />
              <Facts execution={one} />
            </>
          )}
        </div>
      </div>
    </Page>
  );
}
