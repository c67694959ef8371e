/** What happened to one message, in the order of time. */
import type { ItemDetail } from "@tidings/client";
import { text } from "../../text";
import { type Tone, toneOf, wordsOf } from "../../ui/status";
import { secondsOf } from "../work/spans";
import { stateOf } from "../work/names";

const words = text.messages;

export interface Tried {
  key: string;
  at: string;
  title: string;
  about?: string | undefined;
  tone: Tone;
  seconds?: number | undefined;
}

const TONES: Readonly<Record<string, Tone>> = { unknown: "doubt", rejected: "bad" };

/** It was planned, tried, decided about by people, and ended. */
export function triedOf(item: ItemDetail): Tried[] {
  const attempts = item.failedAttempts.map((one): Tried => ({
    key: `attempt:${one.attempt}`,
    at: one.startedAt,
    title: `${words.attempt(one.attempt)}${one.provider ? ` · ${one.provider}` : ""}: ${words.outcomes[one.outcome] ?? wordsOf(one.outcome)}`,
    about: one.error,
    tone: TONES[one.outcome] ?? "warn",
    seconds: secondsOf(one.startedAt, one.endedAt),
  }));
  const people = item.history.map((one, place): Tried => ({
    key: `history:${place}`,
    at: one.at,
    title: `${wordsOf(one.event)} · ${one.actor}`,
    about: noteOf(one.detail),
    tone: "quiet",
  }));
  const all = [{ key: "made", at: item.createdAt, title: words.made, tone: "quiet" as const }, ...attempts, ...people, ...ended(item)];
  return all.sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
}

function ended(item: ItemDetail): Tried[] {
  if (!item.finalizedAt) return [];
  const last = item.failedAttempts.at(-1)?.error;
  const about = item.error && item.error !== last ? item.error : (item.providerMessageId ?? undefined);
  return [{ key: "ended", at: item.finalizedAt, title: wordsOf(item.status), about, tone: toneOf(stateOf(item)) }];
}

function noteOf(detail: Readonly<Record<string, unknown>>): string {
  return Object.entries(detail)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}
