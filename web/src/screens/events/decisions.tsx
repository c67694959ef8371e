import type { Decision, EventItem } from "@tidings/client";
import { Link } from "wouter";
import { KindIcon } from "../../parts/graph/kinds";
import { channelName } from "../../parts/content/channel";
import { text } from "../../text";
import { Status, type Tone, wordsOf } from "../../ui/status";
import { Time } from "../../ui/time";
import styles from "./events.module.css";
import { inOrder } from "./model";

const words = text.events;
const TONES: Readonly<Record<Decision["outcome"], Tone>> = { enqueued: "good", suppressed: "quiet", fallback: "info", none: "quiet" };
const ITEM_TONES: Readonly<Record<string, Tone>> = { pending: "info", processing: "info", succeeded: "good", failed: "bad", skipped: "quiet", in_doubt: "doubt" };

/** What was decided for each channel and audience, why, and what is sent. */
export function Decisions({ decisions }: { decisions: readonly Decision[] }) {
  if (decisions.length === 0) return <p className={styles.quiet}>{words.unknownTrigger}</p>;
  return (
    <ul className={styles.decisions}>
      {inOrder(decisions).map((one) => (
        <li key={`${one.channel} ${one.audience}`}>
          <header>
            <span className={styles.what}>
              <KindIcon type={one.channel} size={15} /> {channelName(one.channel)}, {text.rules.audiences[one.audience]}
            </span>
            <Status state={one.outcome} tone={TONES[one.outcome]}>
              {text.rules.outcomes[one.outcome]}
            </Status>
            <span className={styles.quiet}>{one.reason}</span>
            {one.ruleId && <Link href={`/rules/${one.ruleId}`}>{words.rule}</Link>}
          </header>
          {one.items.length > 0 && <Items items={one.items} />}
        </li>
      ))}
    </ul>
  );
}

function Items({ items }: { items: readonly EventItem[] }) {
  return (
    <ul className={styles.items}>
      {items.map((item, place) => (
        <li key={item.id ?? place}>
          <Status state={item.status} tone={ITEM_TONES[item.status] ?? "quiet"}>
            {wordsOf(item.status)}
          </Status>
          <span>{item.contact?.name ? `${item.contact.name} · ${item.recipient}` : item.recipient}</span>
          <Time at={item.runAt} />
          <span className={item.error ? styles.bad : styles.quiet}>{item.error ?? item.waiting}</span>
          {item.payload && <Payload payload={item.payload} />}
        </li>
      ))}
    </ul>
  );
}

function Payload({ payload }: { payload: Record<string, unknown> }) {
  const shown = Object.entries(payload).filter(([, value]) => value !== null && value !== "");
  return (
    <details className={styles.payload}>
      <summary>{words.payload}</summary>
      <dl>
        {shown.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
