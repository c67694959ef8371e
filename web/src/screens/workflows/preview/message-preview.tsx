import { CircleSlash, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { text } from "../../../text";
import { CodeEditor } from "../../../ui/code-editor";
import { cx } from "../../../ui/cx";
import { MessageFrame } from "../../../ui/message-frame";
import { Select } from "../../../ui/select";
import type { Preview } from "../api";
import styles from "./preview.module.css";

const words = text.workflows.preview;
const PHONE_WIDTH = 375;

/** One message as its reader would see it, with what should be looked at. */
export function MessagePreview({ preview }: { preview: Preview }) {
  return (
    <div className={styles.message}>
      <Notes preview={preview} />
      <Look preview={preview} />
    </div>
  );
}

function Notes({ preview: { error, skipped, problems } }: { preview: Preview }) {
  const notes = [
    ...(error ? [{ kind: "bad", words: `${words.error}: ${error}` }] : []),
    ...(skipped ? [{ kind: "warn", words: `${words.skipped}: ${skipped}` }] : []),
    ...problems.filter((one) => one !== error).map((one) => ({ kind: "warn", words: one })),
  ];
  if (notes.length === 0) return null;
  return (
    <ul className={styles.notes}>
      {notes.map((note) => (
        <li key={note.words} className={styles[note.kind]}>
          {note.kind === "bad" ? <CircleSlash size={14} aria-hidden /> : <TriangleAlert size={14} aria-hidden />}
          <span>{note.words}</span>
        </li>
      ))}
    </ul>
  );
}

function Look({ preview }: { preview: Preview }) {
  switch (preview.channel) {
    case "email":
      return <Email preview={preview} />;
    case "sms":
    case "whatsapp":
      return <Bubble preview={preview} />;
    case "push":
      return <Push preview={preview} />;
    case "webhook":
      return <Request preview={preview} />;
    default:
      return <Post preview={preview} />;
  }
}

function Email({ preview }: { preview: Preview }) {
  const { content, recipients, size } = preview;
  const { subject, html, body } = content;
  const [part, setPart] = useState<"desktop" | "phone" | "text">("desktop");
  const shown = html ? part : "text";
  const parts = (["desktop", "phone", "text"] as const).map((value) => ({ value, label: words[value] }));
  const heads = [
    [words.to, recipients.join(", ")],
    [words.from, content["from"]],
    [words.replyTo, content["replyTo"]],
    [words.cc, listed(content["cc"])],
    [words.bcc, listed(content["bcc"])],
  ] as const;
  return (
    <article className={styles.email}>
      <header className={styles.heads}>
        <h4>{subject || <i>{words.noSubject}</i>}</h4>
        <dl>
          {heads.map(([name, value]) => value && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        <div className={styles.tools}>
          {html && <Select small aria-label={words.width} value={part} options={parts} onChange={setPart} />}
          {size !== null && <span>{words.bytes(size)}</span>}
        </div>
      </header>
      {shown === "text" ? <pre className={styles.plain}>{body}</pre> : <MessageFrame html={html ?? ""} title={subject ?? words.title} {...(shown === "phone" ? { width: PHONE_WIDTH } : {})} />}
    </article>
  );
}

/** What has parts is JSON. */
function listed(value: string | undefined): string | undefined {
  if (!value?.startsWith("[")) return value;
  return (JSON.parse(value) as string[]).join(", ");
}

function Bubble({ preview: { channel, content, recipients, segments } }: { preview: Preview }) {
  return (
    <article className={styles.phone}>
      <header>{[recipients.join(", "), content["from"]].filter(Boolean).join(" · ")}</header>
      <p className={cx(styles.bubble, channel === "whatsapp" && styles.whatsapp)}>{content["body"] ?? content["template"]}</p>
      {segments && <footer>{words.segments(segments.segments, segments.units, segments.encoding)}</footer>}
    </article>
  );
}

function Push({ preview: { content, recipients } }: { preview: Preview }) {
  return (
    <article className={styles.phone}>
      <div className={styles.push}>
        <header>
          <span>{words.app}</span>
          <span>{words.now}</span>
        </header>
        <b>{content["title"]}</b>
        <p>{content["body"]}</p>
      </div>
      <footer>
        {recipients.join(", ")}
        {content["url"] && (
          <>
            {" "}
            {words.opens} <code>{content["url"]}</code>
          </>
        )}
      </footer>
    </article>
  );
}

function Request({ preview: { content, recipients } }: { preview: Preview }) {
  return (
    <article className={styles.request}>
      <header>
        <b>POST</b> <code>{recipients.join(", ")}</code>
      </header>
      <CodeEditor value={indented(content["body"] ?? "")} language="json" readOnly lines={false} minHeight={60} maxHeight={360} label={words.requested} />
    </article>
  );
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

function Post({ preview: { channel, content, recipients } }: { preview: Preview }) {
  return (
    <article className={styles.post}>
      <header>
        <span>{channel === "voice" ? words.spoken : words.posted}</span>
        <code>{recipients.join(", ")}</code>
      </header>
      {content["title"] && <b>{content["title"]}</b>}
      <p>{content["script"] ?? content["body"]}</p>
      {content["url"] && <code>{content["url"]}</code>}
    </article>
  );
}
