import { useState } from "react";
import { chooseTheme, THEMES, themeChosen } from "../../shell/theme";
import { text } from "../../text";
import { Field } from "../../ui/field";
import { Select } from "../../ui/select";
import styles from "./account.module.css";

/** Light or dark. */
export function Appearance() {
  const [theme, setTheme] = useState(themeChosen);
  return (
    <div className={styles.form}>
      <Field label={text.shell.theme}>
        <Select
          value={theme}
          options={THEMES.map((value) => ({ value, label: text.shell.themes[value] }))}
          onChange={(chosen) => {
            chooseTheme(chosen);
            setTheme(chosen);
          }}
        />
      </Field>
    </div>
  );
}
