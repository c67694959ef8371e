import { type KeyboardEvent, type ReactNode, useId, useState } from "react";
import styles from "./combobox.module.css";
import { cx } from "./cx";
import { useField } from "./field";
import fieldStyles from "./field.module.css";

export interface Choice {
  value: string;
  label: string;
  /** Quiet words beside the label. */
  about?: ReactNode;
}

interface ComboboxProps {
  /** The words in the field; `onSearch` asks for the choices that fit. */
  query: string;
  onSearch: (query: string) => void;
  choices: readonly Choice[];
  onChoose: (choice: Choice) => void;
  placeholder?: string;
  /** Said when nothing fits. */
  empty?: string;
  label?: string;
  disabled?: boolean;
}

/** A field that proposes: type, move with the arrows, take with Enter. */
export function Combobox({ query, onSearch, choices, onChoose, placeholder, empty, label, disabled }: ComboboxProps) {
  const listId = useId();
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const at = Math.min(active, choices.length - 1);
  const choose = (choice: Choice | undefined) => {
    if (!choice) return;
    setOpen(false);
    onChoose(choice);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && open) {
      event.stopPropagation();
      setOpen(false);
    }
    if (event.key === "Enter" && open) {
      event.preventDefault();
      choose(choices[at]);
    }
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    setOpen(true);
    if (open && choices.length > 0) setActive((at + step + choices.length) % choices.length);
  };
  return (
    <div className={styles.combobox}>
      <input
        {...useField()}
        className={fieldStyles.control}
        role="combobox"
        aria-label={label}
        aria-expanded={open}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={open && at >= 0 ? `${listId}-${at}` : undefined}
        autoComplete="off"
        spellCheck={false}
        placeholder={placeholder}
        disabled={disabled}
        value={query}
        onChange={(event) => {
          setOpen(true);
          setActive(0);
          onSearch(event.target.value);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={onKeyDown}
      />
      <div id={listId} role="listbox" aria-label={label ?? placeholder} className={styles.list} hidden={!open || (choices.length === 0 && !empty)}>
        {choices.map((choice, place) => (
          <ChoiceRow key={choice.value} id={`${listId}-${place}`} choice={choice} active={place === at} onChoose={choose} />
        ))}
        {choices.length === 0 && (
          <div role="option" aria-selected={false} aria-disabled className={styles.empty}>
            {empty}
          </div>
        )}
      </div>
    </div>
  );
}

interface ChoiceRowProps {
  id: string;
  choice: Choice;
  active: boolean;
  onChoose: (choice: Choice) => void;
}

/** One choice; the focus stays in the field. */
export function ChoiceRow({ id, choice, active, onChoose }: ChoiceRowProps) {
  return (
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus -- the field has the keys
    <div
      id={id}
      role="option"
      aria-selected={active}
      className={cx(styles.choice, active && styles.active)}
      ref={(row) => {
        if (active) row?.scrollIntoView({ block: "nearest" });
      }}
      onMouseDown={(event) => event.preventDefault()}
      onClick={() => onChoose(choice)}
    >
      <span className={styles.label}>{choice.label}</span>
      {choice.about && <span className={styles.about}>{choice.about}</span>}
    </div>
  );
}
