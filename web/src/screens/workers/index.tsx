import type { HealthReport, LiveWorker, ProviderConnection, ProviderStatus } from "@tidings/client";
import { Link } from "wouter";
import { useRead } from "../../api/queries";
import { useMay, useSession } from "../../api/session";
import { text } from "../../text";
import { ButtonLink } from "../../ui/button";
import { EmptyState } from "../../ui/empty-state";
import { Id } from "../../ui/id";
import { Page, Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Skeleton } from "../../ui/skeleton";
import { Status, Tag, type Tone, wordsOf } from "../../ui/status";
import { type Column, Table } from "../../ui/table";
import { Time } from "../../ui/time";
import { count } from "../../ui/times";
import { Tooltip } from "../../ui/tooltip";
import styles from "./workers.module.css";

const words = text.workers;
const EVERY_MS = 5_000;
const TONES: Readonly<Record<string, Tone>> = { ready: "good", resting: "warn", unserved: "bad" };

/** Which workers live, what waits for one that is not there, and what rests. */
export default function Workers() {
  const health = useRead("GET /v1/health", {}, { every: EVERY_MS });
  const workers = useRead("GET /v1/workers", {}, { every: EVERY_MS });
  const mayAdminister = useMay("administer");
  const error = health.error ?? workers.error;
  return (
    <Page title={words.title} count={workers.data && words.count(workers.data.data.length)} status={health.data && <Health health={health.data} />}>
      {error && <Problem error={error} onRetry={() => void Promise.all([health.refetch(), workers.refetch()])} />}
      {!error && !(health.data && workers.data) && <Skeleton lines={6} />}
      {health.data && <Lacks health={health.data} />}
      {workers.data && <Living workers={workers.data.data} />}
      {mayAdminister && <Providers />}
    </Page>
  );
}

function Health({ health }: { health: HealthReport }) {
  const isHealthy = health.status === "healthy";
  return (
    <>
      <Status state={health.status} tone={isHealthy ? "good" : "bad"}>
        {isHealthy ? words.healthy : words.unhealthy}
      </Status>
      {health.version && (
        <Tag>
          {words.version} {health.version}
        </Tag>
      )}
    </>
  );
}

function Lacks({ health }: { health: HealthReport }) {
  const waiting = health.waiting ?? [];
  if (waiting.length + health.problems.length === 0) return <p className={styles.well}>{words.well}</p>;
  return (
    <>
      {waiting.length > 0 && (
        <Section title={words.waiting} about={words.waitingAbout}>
          <Lines lines={waiting} tone="warn" />
        </Section>
      )}
      {health.problems.length > 0 && (
        <Section title={words.problems}>
          <Lines lines={health.problems} tone="bad" />
        </Section>
      )}
    </>
  );
}

function Lines({ lines, tone }: { lines: readonly string[]; tone: Tone }) {
  return (
    <ul className={styles.lines}>
      {lines.map((line) => (
        <li key={line}>
          <Status state={tone} tone={tone}>
            {line}
          </Status>
        </li>
      ))}
    </ul>
  );
}

function Living({ workers }: { workers: readonly LiveWorker[] }) {
  const { isOperator } = useSession();
  return (
    <Section title={words.workers} about={words.workersAbout}>
      <Table
        label={words.workers}
        columns={isOperator ? [...FIRST, ...WHERE, ...REST] : [...FIRST, ...REST]}
        rows={workers}
        rowKey={(one) => one.id}
        maxHeight={360}
        empty={<EmptyState title={words.none} about={words.noneAbout} />}
      />
    </Section>
  );
}

const FIRST: readonly Column<LiveWorker>[] = [{ id: "worker", title: words.worker, width: "140px", cell: (one) => <Id id={one.id} /> }];

const WHERE: readonly Column<LiveWorker>[] = [
  { id: "host", title: words.host, width: "minmax(90px, 1fr)", cell: (one) => one.host },
  { id: "pid", title: words.pid, width: "70px", align: "end", cell: (one) => one.pid },
];

const REST: readonly Column<LiveWorker>[] = [
  { id: "version", title: words.version, width: "90px", cell: (one) => one.version },
  { id: "lanes", title: words.lanes, width: "minmax(160px, 1.6fr)", cell: (one) => <Listed all={one.lanes.map(wordsOf)} /> },
  { id: "serves", title: words.serves, width: "minmax(140px, 1.6fr)", cell: (one) => <Listed all={one.serves.map((served) => served.provider.replace(/\/\*$/, ""))} /> },
  { id: "started", title: words.atWorkSince, width: "100px", cell: (one) => <Time at={one.startedAt} /> },
  { id: "lastSeen", title: words.lastSeen, width: "100px", cell: (one) => <Time at={one.lastSeenAt} /> },
];

function Listed({ all }: { all: readonly string[] }) {
  const line = all.join(", ");
  return (
    <Tooltip text={line}>
      <span>{line || "–"}</span>
    </Tooltip>
  );
}

function Providers() {
  const { data, error, refetch } = useRead("GET /v1/providers", {}, { every: EVERY_MS });
  const connections = useRead("GET /v1/connections", {});
  const shown = (data?.data ?? []).filter(isShown);
  const toConnections = (
    <ButtonLink small href="/connections">
      {words.toConnections}
    </ButtonLink>
  );
  return (
    <Section title={words.providers} about={data && shown.length === 0 ? words.noProviders : words.providersAbout} actions={toConnections}>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {shown.length > 0 && (
        <Table label={words.providers} columns={providerColumns(connections.data?.data ?? [])} rows={shown} rowKey={(one) => one.name} maxHeight={420} />
      )}
    </Section>
  );
}

/** What serves every connection of a kind (`smtp/*`) is no provider of anybody until one is set up. */
function isShown(one: ProviderStatus): boolean {
  return !one.name.endsWith("/*") || one.channels.length > 0 || one.restsUntil !== null;
}

function providerColumns(connections: readonly ProviderConnection[]): readonly Column<ProviderStatus>[] {
  const provider = (one: ProviderStatus) => <Provider one={one} connection={connections.find(({ id }) => one.name.endsWith(`/${id}`))} />;
  return [{ id: "provider", title: words.provider, width: "minmax(240px, 1.6fr)", cell: provider }, ...STATES];
}

const STATES: readonly Column<ProviderStatus>[] = [
  { id: "channels", title: words.channels, width: "minmax(100px, 1fr)", cell: (one) => one.channels.map((channel) => text.channels[channel] ?? channel).join(", ") },
  {
    id: "state",
    title: words.state,
    width: "150px",
    cell: (one) => (
      <Status state={one.state} tone={TONES[one.state] ?? "quiet"}>
        {words.states[one.state] ?? one.state}
      </Status>
    ),
  },
  { id: "way", title: words.way, width: "minmax(170px, 1fr)", cell: (one) => words.ways[one.providerClass ?? ""] ?? "–" },
  { id: "slots", title: words.slots, width: "100px", align: "end", cell: (one) => words.slotsOf(one.concurrency, one.limit) || "–" },
  { id: "served", title: words.served, width: "90px", align: "end", cell: (one) => count(one.servedBy.length) },
  { id: "reason", title: words.reason, width: "minmax(140px, 1.6fr)", cell: (one) => <Reason one={one} /> },
];

/** A connection of this workspace has a name of its own; elsewhere it is its kind and its id. */
function Provider({ one, connection }: { one: ProviderStatus; connection: ProviderConnection | undefined }) {
  return (
    <>
      {connection ? <Link href={`/connections/${connection.id}`}>{connection.name}</Link> : one.name}{" "}
      {one.printing && <Tag tone="warn">{words.printing}</Tag>}
    </>
  );
}

function Reason({ one }: { one: ProviderStatus }) {
  if (!one.restsUntil) return null;
  const reason = one.restReason ?? one.unavailableReason;
  return (
    <>
      {text.connections.triedAgain} <Time at={one.restsUntil} /> {reason}
    </>
  );
}
