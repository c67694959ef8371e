import { useState } from "react";
import { isNotFound } from "../../api/queries";
import { text } from "../../text";
import { EmptyState } from "../../ui/empty-state";
import { Id } from "../../ui/id";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Tag } from "../../ui/status";
import { Tabs } from "../../ui/tabs";
import { useQueryValue } from "../../ui/use-query";
import type { ScreenProps } from "../registry";
import { RunState } from "../runs/run-state";
import { Actions } from "./actions";
import { Failures } from "./failures";
import { History } from "./history";
import { Items } from "./items";
import { Jobs } from "./jobs";
import { RetryDialog, type RetryWhere } from "./retry-dialog";
import styles from "./run.module.css";
import { Summary } from "./summary";
import { useRun } from "./use-run";

const words = text.runs;
type View = "items" | "failures" | "jobs" | "history";

/** One run: how far it is and how fast, what failed and why, its messages and its jobs. */
export default function RunScreen({ params }: ScreenProps) {
  const id = params["id"] ?? "";
  const { run, error, isOpen, rate, left } = useRun(id);
  const [view, setView] = useQueryValue("view", "items");
  const [retrying, setRetrying] = useState<RetryWhere | null>(null);
  const back = { href: "/runs", label: words.title };
  if (!run) {
    return (
      <Page title={words.title} back={back}>
        {isNotFound(error) ? <EmptyState title={text.notFound.title} about={words.nothingFits} /> : error ? <Problem error={error} /> : <Skeleton lines={6} />}
      </Page>
    );
  }
  const status = (
    <>
      <RunState run={run} />
      {run.test && <Tag>{text.work.test}</Tag>}
      {run.printed && <Tag>{text.work.printed}</Tag>}
      <Id id={run.id} />
    </>
  );
  return (
    <Page title={run.campaignName ?? words.noCampaign} back={back} status={status} actions={<Actions run={run} onRetry={() => setRetrying({})} />} fill>
      <div className={styles.top}>
        {error && <Problem error={error} />}
        <Summary run={run} rate={rate} left={left} />
      </div>
      <div className={styles.tabs}>
        <Tabs<View>
          label={words.title}
          value={view as View}
          onChange={setView}
          tabs={[
            { value: "items", label: words.items, content: <Items run={run} isOpen={isOpen} /> },
            { value: "failures", label: words.failures, content: <Failures run={run} onRetry={setRetrying} /> },
            { value: "jobs", label: words.jobs, content: <Jobs run={run} isOpen={isOpen} /> },
            { value: "history", label: words.history, content: <History run={run} /> },
          ]}
        />
      </div>
      {retrying && <RetryDialog run={run} where={retrying} onClose={() => setRetrying(null)} />}
    </Page>
  );
}
