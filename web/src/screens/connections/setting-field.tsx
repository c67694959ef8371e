import type { KindSetting } from "@tidings/client";
import type { ReactNode } from "react";
import { text } from "../../text";
import { Checkbox } from "../../ui/checkbox";
import { Field } from "../../ui/field";
import { Select } from "../../ui/select";
import { TextArea, TextInput } from "../../ui/text-input";
import styles from "./connections.module.css";
import { partsOf, sentence, settingName } from "./words";

interface SettingFieldProps {
  setting: KindSetting;
  value: string;
  problem: string | undefined;
  onChange: (value: string) => void;
}

/** One thing that a provider must or may be told, in the control of its type. */
export function SettingField({ setting, value, problem, onChange }: SettingFieldProps) {
  return (
    <Field label={settingName(setting.name)} hint={<Hint setting={setting} />} problem={problem} required={setting.required}>
      <Control setting={setting} value={value} onChange={onChange} />
    </Field>
  );
}

function Control({ setting, value, onChange }: Pick<SettingFieldProps, "setting" | "value" | "onChange">) {
  const byDefault = setting.default === null ? "" : String(setting.default);
  if (setting.type === "flag") return <Select value={value} options={flagOptions(setting)} onChange={onChange} />;
  if (setting.choices.length) {
    const unset = { value: "", label: text.connections.form.choiceDefault(byDefault) };
    return <Select value={value} options={[unset, ...setting.choices.map((one) => ({ value: one, label: one }))]} onChange={onChange} />;
  }
  const common = { value, onChange, placeholder: byDefault || setting.example, autoComplete: "off", spellCheck: false };
  if (setting.type === "lines") return <TextArea rows={4} mono {...common} />;
  if (setting.type === "number") return <TextInput inputMode="numeric" {...common} />;
  return <TextInput inputMode={setting.type === "url" ? "url" : "text"} {...common} />;
}

function flagOptions(setting: KindSetting) {
  const { yes, no, choiceDefault } = text.connections.form;
  const byDefault = setting.default === null ? "" : setting.default === true ? yes : no;
  return [
    { value: "", label: choiceDefault(byDefault.toLowerCase()) },
    { value: "true", label: yes },
    { value: "false", label: no },
  ];
}

function Hint({ setting }: { setting: KindSetting }): ReactNode {
  return (
    <>
      {partsOf(sentence(setting.doc)).map((part, place) => (part.isCode ? <code key={place}>{part.text}</code> : part.text))}.
    </>
  );
}

interface CredentialFieldProps extends SettingFieldProps {
  isStored: boolean;
  isForgotten: boolean;
  onForget: (forget: boolean) => void;
}

/** A secret: written, never read back. An empty field keeps what is stored. */
export function CredentialField({ setting, value, problem, isStored, isForgotten, onChange, onForget }: CredentialFieldProps) {
  const common = {
    value,
    onChange,
    disabled: isForgotten,
    placeholder: isStored ? text.connections.form.isSet : setting.example,
    autoComplete: "new-password",
    spellCheck: false,
  };
  return (
    <div className={styles.credential}>
      <Field label={settingName(setting.name)} hint={<Hint setting={setting} />} problem={problem} required={setting.required && !isStored}>
        {setting.type === "lines" ? <TextArea rows={5} mono {...common} /> : <TextInput type="password" mono {...common} />}
      </Field>
      {isStored && !setting.required && (
        <Checkbox checked={isForgotten} onChange={onForget}>
          {text.connections.form.takeAway}
        </Checkbox>
      )}
    </div>
  );
}
