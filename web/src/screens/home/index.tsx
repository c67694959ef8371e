import type { Overview } from "@tidings/client";
import { useMemo } from "react";
import { useRead } from "../../api/queries";
import { text } from "../../text";
import { EmptyState } from "../../ui/empty-state";
import { Page, Section } from "../../ui/page";
import { Plot } from "../../ui/plot";
import { Problem } from "../../ui/problem";
import { Select } from "../../ui/select";
import { Skeleton } from "../../ui/skeleton";
import { useQueryValue } from "../../ui/use-query";
import styles from "./home.module.css";
import { Figures } from "./figures";
import { linesOf, type PlottedBy } from "./overview";
import { Resting } from "./resting";

const EVERY_MS = 5_000;

/** What is happening now, each number a link to what it counts. */
export default function Home() {
  const [minutes, setMinutes] = useQueryValue("minutes", "60");
  const { data, error, refetch } = useRead("GET /v1/overview", { query: { minutes: Number(minutes) } }, { every: EVERY_MS, keep: true });
  const range = (
    <Select
      small
      aria-label={text.home.range}
      value={minutes}
      onChange={setMinutes}
      options={Object.entries(text.home.ranges).map(([value, label]) => ({ value, label }))}
    />
  );
  return (
    <Page title={text.home.title} actions={range}>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={6} />}
      {data && (
        <>
          <Figures overview={data} />
          <Sends overview={data} minutes={Number(minutes)} />
          <Resting overview={data} />
        </>
      )}
    </Page>
  );
}

function Sends({ overview, minutes }: { overview: Overview; minutes: number }) {
  const [by, setBy] = useQueryValue("by", "outcome");
  const lines = useMemo(() => linesOf(overview, minutes, by as PlottedBy), [overview, minutes, by]);
  const choice = (
    <Select
      small
      className={styles.choice}
      aria-label={text.home.by}
      value={by}
      onChange={setBy}
      options={[
        { value: "outcome", label: text.home.byOutcome },
        { value: "channel", label: text.home.byChannel },
      ]}
    />
  );
  return (
    <Section title={text.home.perMinute} actions={choice}>
      {lines.series.length ? (
        <Plot label={text.home.perMinute} times={lines.times} series={lines.series} height={220} stacked />
      ) : (
        <EmptyState title={text.home.nothingSent} about={text.home.nothingSentAbout} />
      )}
    </Section>
  );
}
