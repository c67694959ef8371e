/** What stands in the form of a connection, and the request that it makes. Every value is a string until then. */
import type { ChangedConnection, GivenConnection, GivenLimits, KindSetting, ProviderConnection, ProviderKindView } from "@tidings/client";

export const RATES = ["perSecond", "perMinute", "perDay"] as const;
export type Rate = (typeof RATES)[number];

export type RatesDraft = Record<Rate, string>;

export interface DomainDraft extends RatesDraft {
  domain: string;
}

export interface LimitsDraft extends RatesDraft {
  concurrency: string;
  /** As typed: `50, 100, 200`. */
  warmUp: string;
  perDomain: readonly DomainDraft[];
}

export interface Draft {
  name: string;
  channel: string;
  settings: Readonly<Record<string, string>>;
  /** What was typed; what is stored is never known here. */
  credentials: Readonly<Record<string, string>>;
  /** Stored credentials to be forgotten. */
  forgotten: readonly string[];
  limits: LimitsDraft;
  position: string;
  weight: string;
  sticky: boolean;
}

export const NO_RATES: RatesDraft = { perSecond: "", perMinute: "", perDay: "" };
const NO_LIMITS: LimitsDraft = { ...NO_RATES, concurrency: "", warmUp: "", perDomain: [] };

/** The empty form of a kind, with a name that is free. */
export function newDraft(kind: ProviderKindView, taken: readonly string[]): Draft {
  return {
    name: freeName(kind.name, taken),
    channel: kind.channels[0] ?? "",
    settings: {},
    credentials: {},
    forgotten: [],
    limits: NO_LIMITS,
    position: "",
    weight: "",
    sticky: false,
  };
}

export function freeName(wanted: string, taken: readonly string[]): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? wanted : `${wanted}-${number}`;
    if (!taken.includes(name)) return name;
  }
}

/** The form of a connection that is there. */
export function draftOf(one: ProviderConnection): Draft {
  return {
    name: one.name,
    channel: one.channel,
    settings: Object.fromEntries(Object.entries(one.settings).map(([name, value]) => [name, String(value)])),
    credentials: {},
    forgotten: [],
    limits: limitsDraftOf(one.limits),
    position: String(one.position),
    weight: String(one.weight),
    sticky: one.sticky,
  };
}

function limitsDraftOf(limits: GivenLimits): LimitsDraft {
  const perDomain = Object.entries(limits.perDomain ?? {}).map(([domain, rates]) => ({ domain, ...ratesDraftOf(rates) }));
  return { ...ratesDraftOf(limits), concurrency: shown(limits.concurrency), warmUp: (limits.warmUp ?? []).join(", "), perDomain };
}

function ratesDraftOf(rates: Partial<Record<Rate, number | null>>): RatesDraft {
  return { perSecond: shown(rates.perSecond), perMinute: shown(rates.perMinute), perDay: shown(rates.perDay) };
}

function shown(value: number | null | undefined): string {
  return value === null || value === undefined ? "" : String(value);
}

/** The limits that are typed; an empty object where there is none. */
export function limitsOf(draft: LimitsDraft): GivenLimits {
  const limits: GivenLimits = ratesOf(draft);
  if (draft.concurrency) limits.concurrency = Number(draft.concurrency);
  const days = daysOf(draft.warmUp);
  if (days?.length) limits.warmUp = days;
  const domains = draft.perDomain.filter((one) => one.domain.trim());
  if (domains.length) limits.perDomain = Object.fromEntries(domains.map((one) => [one.domain.trim().toLowerCase(), ratesOf(one)]));
  return limits;
}

function ratesOf(draft: RatesDraft): Partial<Record<Rate, number>> {
  return Object.fromEntries(RATES.filter((rate) => draft[rate]).map((rate) => [rate, Number(draft[rate])]));
}

/** The numbers of `50, 100, 200`; `null` where something else stands between the commas. */
export function daysOf(typed: string): number[] | null {
  const parts = typed.split(/[\s,]+/).filter(Boolean);
  return parts.every((part) => /^[1-9]\d*$/.test(part)) ? parts.map(Number) : null;
}

/** The request that makes the connection. */
export function givenOf(kind: ProviderKindView, draft: Draft): GivenConnection {
  const limits = limitsOf(draft.limits);
  const settings = kind.settings.filter((one) => !one.secret && draft.settings[one.name]);
  return {
    name: draft.name,
    provider: kind.name,
    ...(kind.channels.length > 1 ? { channel: draft.channel } : {}),
    settings: Object.fromEntries(settings.map((one) => [one.name, valueOf(one, draft.settings[one.name] ?? "")])),
    credentials: filled(draft.credentials),
    ...(Object.keys(limits).length ? { limits } : {}),
    ...(draft.position ? { position: Number(draft.position) } : {}),
    ...(draft.weight ? { weight: Number(draft.weight) } : {}),
    ...(draft.sticky ? { sticky: true } : {}),
  };
}

/** The request that changes the connection: only what is different from before. */
export function changesOf(kind: ProviderKindView, before: Draft, draft: Draft): ChangedConnection {
  const changes: ChangedConnection = {};
  if (draft.name !== before.name) changes.name = draft.name;
  const settings = kind.settings.filter((one) => !one.secret && (draft.settings[one.name] ?? "") !== (before.settings[one.name] ?? ""));
  if (settings.length) changes.settings = Object.fromEntries(settings.map((one) => [one.name, changedValue(one, draft.settings[one.name] ?? "")]));
  const credentials = { ...Object.fromEntries(draft.forgotten.map((name) => [name, null])), ...filled(draft.credentials) };
  if (Object.keys(credentials).length) changes.credentials = credentials;
  const limits = limitsOf(draft.limits);
  if (JSON.stringify(limits) !== JSON.stringify(limitsOf(before.limits))) changes.limits = limits;
  if (draft.position && draft.position !== before.position) changes.position = Number(draft.position);
  if (draft.weight && draft.weight !== before.weight) changes.weight = Number(draft.weight);
  if (draft.sticky !== before.sticky) changes.sticky = draft.sticky;
  return changes;
}

function filled(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value));
}

function changedValue(setting: KindSetting, typed: string): string | number | boolean | null {
  return typed ? valueOf(setting, typed) : null;
}

/** What is typed, as the provider's description wants it; what is no number stays as it is, for the server to say so. */
export function valueOf(setting: KindSetting, typed: string): string | number | boolean {
  if (setting.type === "number") return Number.isFinite(Number(typed)) ? Number(typed) : typed;
  return setting.type === "flag" ? typed === "true" : typed;
}
