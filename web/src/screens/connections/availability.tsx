import type { GivenLimits, ProviderConnection } from "@tidings/client";
import { type ReactNode, useState } from "react";
import { api } from "../../api/client";
import { invalidate } from "../../api/queries";
import { useMay } from "../../api/session";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { KeyValue } from "../../ui/key-value";
import { Section } from "../../ui/page";
import { Problem } from "../../ui/problem";
import { Time } from "../../ui/time";
import { count } from "../../ui/times";
import { toast } from "../../ui/toast";
import styles from "./connections.module.css";
import { Circuit } from "./state";
import { limitRows } from "./words";

const words = text.connections.detail;

/** Whether its calls are held back and why, and how much of its limits is taken. */
export function Availability({ one }: { one: ProviderConnection }) {
  return (
    <>
      <CircuitSection one={one} />
      <Limits one={one} />
    </>
  );
}

function CircuitSection({ one }: { one: ProviderConnection }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const mayReset = useMay("administer") && !one.operators && one.circuit !== "closed";
  const reset = async () => {
    setBusy(true);
    try {
      await api.connections.reset(one.id);
      await invalidate("/v1/connections");
      toast(words.resetDone);
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  const button = mayReset && (
    <Button small busy={busy} onClick={() => void reset()}>
      {words.reset}
    </Button>
  );
  return (
    <Section title={words.circuit} about={words.circuits[one.circuit]} actions={button}>
      <KeyValue
        pairs={[
          [text.connections.state, one.circuit === "closed" ? undefined : <Circuit key="circuit" one={one} />],
          [words.until, one.restsUntil && <Time at={one.restsUntil} />],
          [one.circuit === "closed" ? words.lastReason : words.reason, one.reason],
        ]}
      />
      {problem !== null && <Problem error={problem} />}
    </Section>
  );
}

function Limits({ one }: { one: ProviderConnection }) {
  const limits = one.limits as GivenLimits;
  const rows = limitRows(limits, one.activity?.used ?? {});
  const domains = Object.entries(limits.perDomain ?? {});
  const { form } = text.connections;
  if (rows.length + domains.length === 0 && !limits.warmUp?.length) return null;
  return (
    <Section title={text.connections.limits}>
      <ul className={styles.limits}>
        {rows.map((row) => (
          <li key={row.name}>
            <span>{form[row.name]}</span>
            {row.used !== null && <meter aria-label={form[row.name]} min={0} max={row.most} value={Math.min(row.used, row.most)} />}
            <span className="numbers">{row.used === null ? count(row.most) : `${count(row.used)} / ${count(row.most)}`}</span>
          </li>
        ))}
        {limits.warmUp?.length ? <Line name={form.warmUp}>{limits.warmUp.map(count).join(", ")}</Line> : null}
        {domains.map(([domain, rates]) => (
          <Line key={domain} name={domain === "*" ? words.otherDomains : <code>{domain}</code>}>
            {rateWords(rates)}
          </Line>
        ))}
      </ul>
    </Section>
  );
}

function Line({ name, children }: { name: ReactNode; children: ReactNode }) {
  return (
    <li>
      <span>{name}</span>
      <span className={styles.wide}>{children}</span>
    </li>
  );
}

function rateWords(rates: NonNullable<GivenLimits["perDomain"]>[string]): string {
  const { form } = text.connections;
  const given = (["perSecond", "perMinute", "perDay"] as const).flatMap((name) => (rates[name] ? [`${form[name].toLowerCase()} ${count(rates[name])}`] : []));
  return given.join(" · ");
}
