import type { ProviderConnection } from "@tidings/client";
import { useState } from "react";
import { isNotFound, useRead } from "../../api/queries";
import { useMay } from "../../api/session";
import { text } from "../../text";
import { ButtonLink } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { Id } from "../../ui/id";
import { KeyValue } from "../../ui/key-value";
import { Page, Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Tag } from "../../ui/status";
import { Time } from "../../ui/time";
import type { ScreenProps } from "../registry";
import { Activity } from "./activity";
import { ConnectionActions } from "./actions";
import { Availability } from "./availability";
import { ConnectionState } from "./state";
import { TestDialog } from "./test-dialog";
import { settingName } from "./words";

const EVERY_MS = 5_000;
const BACK = { href: "/connections", label: text.connections.title };

/** One connection: whether it works, what it did lately, and how it is set up. */
export default function ConnectionDetail({ params }: ScreenProps) {
  const { data, error, refetch } = useRead("GET /v1/connections/{id}", { path: { id: params["id"] ?? "" } }, { every: EVERY_MS });
  const [testing, setTesting] = useState(false);
  if (!data) {
    return (
      <Page title={text.connections.one} back={BACK}>
        {error ? <Missing error={error} onRetry={() => void refetch()} /> : <Skeleton lines={6} />}
      </Page>
    );
  }
  return (
    <Page title={data.name} back={BACK} status={<Heading one={data} />} actions={<ConnectionActions one={data} onTest={() => setTesting(true)} />}>
      {data.activity && <Activity activity={data.activity} />}
      <Availability one={data} />
      <SetUp one={data} />
      {testing && <TestDialog one={data} onClose={() => setTesting(false)} />}
    </Page>
  );
}

function Missing({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  if (!isNotFound(error)) return <Problem error={error} onRetry={onRetry} />;
  const { notFound, notFoundAbout, toList } = text.connections.detail;
  return <EmptyState title={notFound} about={notFoundAbout} action={<ButtonLink href="/connections">{toList}</ButtonLink>} />;
}

function Heading({ one }: { one: ProviderConnection }) {
  return (
    <>
      <Tag>{text.channels[one.channel] ?? one.channel}</Tag>
      {one.operators && <Tag>{text.connections.operators}</Tag>}
      <ConnectionState one={one} />
    </>
  );
}

function SetUp({ one }: { one: ProviderConnection }) {
  const words = text.connections;
  const mayAdminister = useMay("administer");
  const history = mayAdminister && !one.operators && (
    <ButtonLink small href={`/audit-log?subject=${one.id}`}>
      {words.detail.history}
    </ButtonLink>
  );
  return (
    <Section title={words.detail.settings} about={one.operators ? words.operatorsAbout : undefined} actions={history}>
      <KeyValue
        columns={2}
        pairs={[
          [words.kind, one.provider],
          [words.order, one.operators ? undefined : words.place(one.position, one.weight)],
          [words.sticky, one.sticky ? words.form.yes : undefined],
          ...Object.entries(one.settings).map(([name, value]) => [settingName(name), <code key={name}>{String(value)}</code>] as const),
          ...one.credentials.map((name) => [settingName(name), words.detail.isSet] as const),
          [words.detail.created, <Time key="created" at={one.createdAt} />],
          [words.detail.updated, one.updatedAt && <Time key="updated" at={one.updatedAt} />],
          ["ID", one.operators ? undefined : <Id key="id" id={one.id} />],
        ]}
      />
    </Section>
  );
}
