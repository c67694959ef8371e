import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { text } from "../text";
import { IconButton } from "./icon-button";
import styles from "./id.module.css";
import { Tooltip } from "./tooltip";

const LONGEST = 14;

/** The end of a UUID tells rows apart: those made together begin alike. */
export function shortId(id: string): string {
  return id.length <= LONGEST ? id : `…${id.slice(-8)}`;
}

/** An id, shortened, with a button that copies the whole of it. */
export function Id({ id, whole = false }: { id: string; whole?: boolean }) {
  return (
    <span className={styles.id}>
      {whole || id.length <= LONGEST ? (
        <code>{id}</code>
      ) : (
        <Tooltip text={id}>
          <code>{shortId(id)}</code>
        </Tooltip>
      )}
      <CopyButton value={id} label={text.common.copyId} />
    </span>
  );
}

/** Copies a text, and says so for two seconds. */
export function CopyButton({ value, label = text.common.copy }: { value: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(value);
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };
  return (
    <IconButton
      label={copied ? text.common.copied : label}
      small
      className={styles.copy}
      onClick={(event) => {
        event.preventDefault();
        event.stopPropagation();
        void copy();
      }}
    >
      {copied ? <Check size={13} aria-hidden /> : <Copy size={13} aria-hidden />}
    </IconButton>
  );
}
