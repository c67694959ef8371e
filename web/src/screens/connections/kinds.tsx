import type { ProviderKindView } from "@tidings/client";
import { useState } from "react";
import { Link } from "wouter";
import { text } from "../../text";
import { Tag } from "../../ui/status";
import { TextInput } from "../../ui/text-input";
import styles from "./connections.module.css";

/** Every provider that can be connected, as a way to its form. */
export function Kinds({ kinds }: { kinds: readonly ProviderKindView[] }) {
  const [query, setQuery] = useState("");
  const found = kinds.filter((kind) => isFound(kind, query));
  return (
    <>
      <p className={styles.about}>{text.connections.kinds.about}</p>
      <div className={styles.search}>
        <TextInput
          type="search"
          data-search
          aria-label={text.connections.kinds.search}
          placeholder={text.connections.kinds.search}
          value={query}
          onChange={setQuery}
        />
      </div>
      {found.length === 0 && <p className={styles.about}>{text.connections.kinds.none}</p>}
      <ul className={styles.kinds}>
        {found.map((kind) => (
          <li key={kind.name}>
            <Link href={`/connections/new?provider=${kind.name}`} className={styles.kind}>
              <strong>{kind.title}</strong>
              <span className={styles.tags}>
                {kind.channels.map((channel) => (
                  <Tag key={channel}>{text.channels[channel] ?? channel}</Tag>
                ))}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Whether every word that is typed stands in its name or in one of its channels. */
export function isFound(kind: ProviderKindView, query: string): boolean {
  const about = [kind.title, kind.name, ...kind.channels, ...kind.channels.map((one) => text.channels[one] ?? "")].join(" ").toLowerCase();
  return query.toLowerCase().split(/\s+/).every((word) => about.includes(word));
}
