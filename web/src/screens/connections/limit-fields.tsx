import { Plus, X } from "lucide-react";
import { problemAt } from "../../api/problem";
import { text } from "../../text";
import { Button } from "../../ui/button";
import { Field } from "../../ui/field";
import { IconButton } from "../../ui/icon-button";
import { TextInput } from "../../ui/text-input";
import styles from "./connections.module.css";
import { daysOf, type DomainDraft, type LimitsDraft, NO_RATES, RATES } from "./draft";

interface LimitFieldsProps {
  limits: LimitsDraft;
  problem: unknown;
  onChange: (limits: LimitsDraft) => void;
}

/** How much may leave through a connection; an empty field is no limit. */
export function LimitFields({ limits, problem, onChange }: LimitFieldsProps) {
  const { form } = text.connections;
  const warmUpProblem = daysOf(limits.warmUp) === null ? form.warmUpWrong : problemAt(problem, "limits.warmUp");
  return (
    <div className={styles.fields}>
      <div className={styles.four}>
        {([...RATES, "concurrency"] as const).map((name) => (
          <Field key={name} label={form[name]} problem={problemAt(problem, `limits.${name}`)}>
            <TextInput type="number" min={1} value={limits[name]} onChange={(value) => onChange({ ...limits, [name]: value })} />
          </Field>
        ))}
      </div>
      <Field label={form.warmUp} hint={form.warmUpHint} problem={warmUpProblem}>
        <TextInput value={limits.warmUp} onChange={(warmUp) => onChange({ ...limits, warmUp })} spellCheck={false} />
      </Field>
      <Domains domains={limits.perDomain} onChange={(perDomain) => onChange({ ...limits, perDomain })} />
      {problemAt(problem, "limits.perDomain") && (
        <p role="alert" className={styles.wrong}>
          {problemAt(problem, "limits.perDomain")}
        </p>
      )}
    </div>
  );
}

function Domains({ domains, onChange }: { domains: readonly DomainDraft[]; onChange: (domains: readonly DomainDraft[]) => void }) {
  const { form } = text.connections;
  const change = (at: number, more: Partial<DomainDraft>) => onChange(domains.map((one, place) => (place === at ? { ...one, ...more } : one)));
  return (
    <fieldset className={styles.group}>
      <legend>{form.perDomain}</legend>
      <p className={styles.hint}>{form.perDomainAbout}</p>
      {domains.map((one, place) => (
        <div key={place} className={styles.domain}>
          <Field label={form.domain} labelHidden={place > 0}>
            <TextInput mono value={one.domain} onChange={(domain) => change(place, { domain })} placeholder="gmail.com" spellCheck={false} />
          </Field>
          {RATES.map((rate) => (
            <Field key={rate} label={form[rate]} labelHidden={place > 0}>
              <TextInput type="number" min={1} value={one[rate]} onChange={(value) => change(place, { [rate]: value })} />
            </Field>
          ))}
          <IconButton label={form.removeDomain(one.domain)} onClick={() => onChange(domains.filter((_, at) => at !== place))}>
            <X size={16} aria-hidden />
          </IconButton>
        </div>
      ))}
      <div>
        <Button small icon={<Plus size={14} aria-hidden />} onClick={() => onChange([...domains, { domain: "", ...NO_RATES }])}>
          {form.addDomain}
        </Button>
      </div>
    </fieldset>
  );
}
