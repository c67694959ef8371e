import { CalendarClock, X } from "lucide-react";
import { useSearchParams } from "wouter";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { Field } from "../../ui/field";
import { localTime } from "../../ui/filter-bar";
import { Popover } from "../../ui/popover";
import { TextInput } from "../../ui/text-input";
import { exactTime } from "../../ui/times";
import { withValue } from "../../ui/use-query";
import styles from "./work.module.css";

const words = text.work.range;
const HOUR_MS = 3_600_000;
const PRESETS = [1, 24, 168, 720] as const;
const [FROM, UNTIL] = ["createdAfter", "createdBefore"] as const;

/** When what is listed was created: `createdAfter` and `createdBefore` in the URL, by a click or to the minute. */
export function TimeRange() {
  const [params, setParams] = useSearchParams();
  const from = params.get(FROM) ?? "";
  const until = params.get(UNTIL) ?? "";
  const set = (name: string, value: string) => setParams((now) => withValue(now, name, value), { replace: true });
  const preset = (hours: number) =>
    setParams((now) => withValue(withValue(now, FROM, new Date(Date.now() - hours * HOUR_MS).toISOString()), UNTIL, ""), { replace: true });
  const isSet = from !== "" || until !== "";
  return (
    <>
      <Popover
        label={words.title}
        trigger={
          <Button small icon={<CalendarClock size={14} aria-hidden />} className={isSet ? styles.isSet : undefined}>
            {inWords(from, until)}
          </Button>
        }
      >
        <div className={styles.range}>
          <div className={styles.presets}>
            {PRESETS.map((hours) => (
              <Button key={hours} small onClick={() => preset(hours)}>
                {words.last(hours)}
              </Button>
            ))}
          </div>
          <TimeField name={words.from} value={from} onChange={(value) => set(FROM, value)} />
          <TimeField name={words.until} value={until} onChange={(value) => set(UNTIL, value)} />
        </div>
      </Popover>
      {isSet && (
        <Button
          kind="quiet"
          small
          aria-label={words.clear}
          icon={<X size={14} aria-hidden />}
          onClick={() => setParams((now) => withValue(withValue(now, FROM, ""), UNTIL, ""), { replace: true })}
        />
      )}
    </>
  );
}

function TimeField({ name, value, onChange }: { name: string; value: string; onChange: (value: string) => void }) {
  return (
    <Field label={name}>
      <TextInput
        small
        type="datetime-local"
        value={localTime(value)}
        onChange={(typed) => onChange(typed ? new Date(typed).toISOString() : "")}
      />
    </Field>
  );
}

function inWords(from: string, until: string): string {
  const said = (at: string) => exactTime(new Date(at)).replace(/:\d\d [A-Z].*$/, "");
  if (from && until) return `${said(from)} – ${said(until)}`;
  if (from) return words.since(said(from));
  return until ? words.before(said(until)) : words.any;
}
