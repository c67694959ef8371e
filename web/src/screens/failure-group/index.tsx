import type { Failure, FailureGroup } from "@tidings/client";
import { useState } from "react";
import { isNotFound, useList, useRead } from "../../api/queries";
import { useMay } from "../../api/session";
import { ContactLink } from "../../parts/work/contact-link";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { KeyValue } from "../../ui/key-value";
import { Page } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Tag } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";
import { count } from "../../ui/times";
import { useQueryValues } from "../../ui/use-query";
import styles from "../errors/errors.module.css";
import type { ScreenProps } from "../registry";
import { ReplayDialog } from "./replay-dialog";

const words = text.errors;
const PAGE = 100;

const COLUMNS: readonly Column<Failure>[] = [
  { id: "to", title: text.work.recipient, width: "minmax(0, 1.2fr)", cell: (one) => one.recipient ?? one.workflowName ?? one.id },
  { id: "contact", title: text.work.contact, width: "minmax(0, 1fr)", cell: (one) => <ContactLink contact={one.contact} contactId={one.contactId} /> },
  { id: "error", title: words.error, width: "minmax(0, 2fr)", cell: (one) => one.error },
  { id: "where", title: words.where, width: "minmax(0, 1fr)", cell: (one) => [one.workflowName ?? one.campaignName, one.node].filter(Boolean).join(" · ") || "–" },
  { id: "provider", title: text.work.provider, width: "100px", cell: (one) => one.provider ?? "–" },
  { id: "at", title: words.at, width: "100px", cell: (one) => <Time at={one.at} /> },
];

/** One way in which things failed: what and whom it hit, and starting it again. */
export default function FailureGroupScreen({ params }: ScreenProps) {
  const id = params["id"] ?? "";
  const query = useQueryValues(["since"]);
  const groups = useRead("GET /v1/failures", { query });
  const list = useList("GET /v1/failures/{id}/items", { path: { id }, query: { ...query, limit: PAGE } });
  const mayReplay = useMay("operate");
  const [asking, setAsking] = useState(false);
  const group = groups.data?.data.find((one) => one.id === id);
  const isGone = isNotFound(list.error);
  const actions = mayReplay && !isGone && (
    <Button kind="primary" onClick={() => setAsking(true)}>
      {words.replay}
    </Button>
  );
  return (
    <Page
      title={group?.text ?? words.title}
      heading={group && <span className={styles.words}>{group.text}</span>}
      back={{ href: query["since"] ? `/errors?since=${encodeURIComponent(query["since"])}` : "/errors", label: words.title }}
      actions={actions || undefined}
      fill
    >
      {group && <Facts group={group} />}
      {isGone && <EmptyState title={words.gone} about={words.goneAbout} />}
      {list.error !== null && !isGone && <Problem error={list.error} onRetry={list.reload} />}
      {list.error === null && (
        <Table
          label={words.items}
          columns={COLUMNS}
          rows={list.rows}
          rowKey={(one) => one.id}
          href={hrefOf}
          isLoading={list.isLoading}
          more={list.more}
        />
      )}
      {asking && <ReplayDialog id={id} since={query["since"]} onClose={() => setAsking(false)} />}
    </Page>
  );
}

/** A message where it failed alone, or the execution that failed with it. */
function hrefOf({ itemId, executionId, id, node }: Failure): string {
  if (itemId) return `/outbox/${itemId}`;
  return `/executions/${executionId ?? id}${node ? `?node=${encodeURIComponent(node)}` : ""}`;
}

function Facts({ group }: { group: FailureGroup }) {
  const tags = (names: readonly string[]) => names.length > 0 && (
      <span className={styles.tags}>
        {names.map((name) => (
          <Tag key={name}>{name}</Tag>
        ))}
      </span>
    );
  return (
    <div className={styles.top}>
      <KeyValue
        columns={2}
        pairs={[
          [words.count, count(group.count)],
          [words.people, count(group.people)],
          [words.first, <Time key="first" at={group.firstAt} exact />],
          [words.last, <Time key="last" at={group.lastAt} exact />],
          [words.workflows, tags(group.workflows) || undefined],
          [words.campaigns, tags(group.campaigns) || undefined],
          [words.providers, tags(group.providers) || undefined],
          [words.example, group.example === group.text ? undefined : <code key="example">{group.example}</code>],
        ]}
      />
    </div>
  );
}
