import type { Campaign, CountedAudience, ProviderConnection, Validated } from "@tidings/client";
import { CircleCheck, CircleX, TriangleAlert } from "lucide-react";
import { useRead } from "../../api/queries";
import { useMay } from "../../api/session";
import { Lacks } from "../../parts/audience/audience-count";
import { audienceOf } from "../../parts/audience/filter";
import { channelWord } from "../../parts/channel-word";
import { text } from "../../text";
import styles from "./campaign.module.css";
import { type Draft, reachesPeople } from "./draft";
import { useCampaignCount } from "./use-campaign-count";
import type { Checks } from "./use-checks";

const words = text.campaigns.checks;

export interface Readiness {
  checks: readonly Check[];
  isReady: boolean;
  counted: CountedAudience | undefined;
  /** What it goes out over, in words. */
  over: string;
}

interface Check {
  state: "good" | "warn" | "bad";
  words: string;
}

/** Everything that is to be known before a campaign is sent, and whether something keeps it from that. */
export function useReadiness(campaign: Campaign, draft: Draft, { checks: validated, isRight }: Checks, isChanged: boolean): Readiness {
  const counted = useCampaignCount(draft, isRight).data;
  const mayRead = useMay("readDefinitions");
  const { data: connections } = useRead("GET /v1/connections", {}, { enabled: mayRead });
  const over = overWords(connections?.data ?? [], draft.channel);
  const checks = [
    ...messageChecks(validated),
    ...(reachesPeople(draft.channel) ? audienceChecks(draft, counted) : []),
    ...connectionChecks(campaign, over),
    ...(isChanged ? [{ state: "bad" as const, words: words.unsaved }] : []),
  ];
  const isKnown = validated !== undefined && (!reachesPeople(draft.channel) || counted !== undefined);
  return { checks, counted, over, isReady: isKnown && checks.every((one) => one.state !== "bad") };
}

function messageChecks(validated: Validated | undefined): Check[] {
  const wrong = validated?.errors.filter((one) => !one.place.startsWith("audience")) ?? [];
  if (!validated) return [];
  return [wrong.length ? { state: "bad", words: words.messageBad(wrong.length) } : { state: "good", words: words.message }];
}

function audienceChecks(draft: Draft, counted: CountedAudience | undefined): Check[] {
  if (!audienceOf(draft.audience)) return [{ state: "bad", words: words.noAudience }];
  if (!counted) return [];
  const reachable = counted.reachable ?? counted.matching;
  if (reachable === 0) return [{ state: "bad", words: words.nobody }];
  const found: Check[] = [{ state: "good", words: words.audience(reachable, counted.matching) }];
  return counted.missing.length ? [...found, { state: "warn", words: words.lacks(counted.missing.length) }] : found;
}

function connectionChecks(campaign: Campaign, over: string): Check[] {
  const missing = campaign.notReady.map((channel): Check => ({ state: "bad", words: words.notReady(channelWord(channel)) }));
  return missing.length ? missing : [{ state: "good", words: over }];
}

function overWords(connections: readonly ProviderConnection[], channel: string): string {
  const names = connections.filter((one) => one.channel === channel && one.enabled).map((one) => one.name);
  return names.length ? words.connection(names.join(", ")) : words.connectionHidden;
}

const ICONS = { good: CircleCheck, warn: TriangleAlert, bad: CircleX };

export function Checklist({ readiness: { checks, counted } }: { readiness: Readiness }) {
  return (
    <div className={styles.checks}>
      <ul>
        {checks.map((check) => {
          const Icon = ICONS[check.state];
          return (
            <li key={check.words} className={styles[check.state]}>
              <Icon size={16} aria-hidden />
              <span>{check.words}</span>
            </li>
          );
        })}
      </ul>
      {counted && <Lacks found={counted} />}
    </div>
  );
}
