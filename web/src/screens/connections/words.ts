/** Names and limits of connections in words. */
import type { GivenLimits } from "@tidings/client";
import { wordsOf } from "../../ui/status";
import { count } from "../../ui/times";

const AS_WRITTEN: Readonly<Record<string, string>> = { api: "API", id: "ID", url: "URL", ttl: "TTL", smtp: "SMTP" };

/** What a setting is called: `apiKey` is `API key`, `baseUrl` is `Base URL`. */
export function settingName(name: string): string {
  const words = wordsOf(name).split(" ");
  return words.map((word) => AS_WRITTEN[word.toLowerCase()] ?? word).join(" ");
}

/** The provider's own words as a sentence of ours: a capital first, and no full stop. */
export function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The parts of a text between and outside of backticks. */
export function partsOf(words: string): readonly { text: string; isCode: boolean }[] {
  return words.split("`").map((part, place) => ({ text: part, isCode: place % 2 === 1 })).filter((part) => part.text);
}

/** `10/s · 600/min · 4 at once`. */
export function limitsInWords(limits: GivenLimits): string {
  const parts = [
    limits.perSecond && `${count(limits.perSecond)}/s`,
    limits.perMinute && `${count(limits.perMinute)}/min`,
    limits.perDay && `${count(limits.perDay)}/day`,
    limits.concurrency && `${count(limits.concurrency)} at once`,
    limits.warmUp?.length && "warming up",
    limits.perDomain && Object.keys(limits.perDomain).length > 0 && "by domain",
  ];
  return parts.filter(Boolean).join(" · ");
}

/** The limits one by one, with what is taken of them now; one that is not counted has `null`. */
export function limitRows(limits: GivenLimits, used: Readonly<Record<string, unknown>>): readonly LimitRow[] {
  const whole = ["perSecond", "perMinute", "perDay", "concurrency"] as const;
  return whole.flatMap((name) => {
    const most = limits[name];
    const taken = used[name];
    return most ? [{ name, most, used: typeof taken === "number" ? taken : null }] : [];
  });
}

export interface LimitRow {
  name: "perSecond" | "perMinute" | "perDay" | "concurrency";
  most: number;
  used: number | null;
}
