import type { CountedAudience, SampledContact } from "@tidings/client";
import { TriangleAlert } from "lucide-react";
import { Link } from "wouter";
import { text } from "../../text";
import { Problem } from "../../ui/problem";
import { count } from "../../ui/times";
import styles from "./audience.module.css";
import type { useCount } from "./use-count";

const words = text.audience.count;

/** How many an audience has, whom of them a channel reaches, and some of them. */
export function AudienceCountPanel({ found, isAsked }: { found: ReturnType<typeof useCount>; isAsked: boolean }) {
  const { data, error, isFetching } = found;
  if (!isAsked) return <p className={styles.quiet}>{words.incomplete}</p>;
  if (error) return <Problem error={error} />;
  if (!data) return null;
  return (
    <div className={styles.panel} aria-busy={isFetching} aria-live="polite">
      <p className={styles.matching}>{words.matching(data.matching)}</p>
      <p className={styles.quiet}>{data.inWords}</p>
      {data.reachable !== null && <Reach found={data} />}
      <Lacks found={data} />
      {data.sample.length > 0 && <Sample sample={data.sample} />}
    </div>
  );
}

function Reach({ found }: { found: CountedAudience }) {
  return (
    <ul className={styles.reach}>
      <li>
        <b className="numbers">{count(found.reachable ?? 0)}</b> {words.reachable}
      </li>
      <li>
        <b className="numbers">{count(found.withoutAddress ?? 0)}</b> {words.withoutAddress}
      </li>
      <li>
        <b className="numbers">{count(found.refused ?? 0)}</b> {words.refused}
      </li>
    </ul>
  );
}

/** What the message prints and some people do not have, with what to change. */
export function Lacks({ found }: { found: Pick<CountedAudience, "missing"> }) {
  if (found.missing.length === 0) return null;
  return (
    <ul className={styles.lacks}>
      {found.missing.map((lack) => (
        <li key={lack.path}>
          <TriangleAlert size={14} aria-hidden />
          <span>
            {words.lacks(lack.contacts, lack.of, lack.path)} {lack.hint}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Sample({ sample }: { sample: readonly SampledContact[] }) {
  return (
    <div>
      <h3 className={styles.small}>{words.sample}</h3>
      <ul className={styles.sample}>
        {sample.map((one) => (
          <li key={one.id}>
            <Link href={`/contacts/${one.id}`}>{one.name ?? one.externalId}</Link>
            <span className={styles.quiet}>{one.skipped ?? one.email}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
