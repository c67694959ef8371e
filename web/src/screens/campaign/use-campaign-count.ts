import { audienceOf } from "../../parts/audience/filter";
import { useCount } from "../../parts/audience/use-count";
import { type Draft, reachesPeople } from "./draft";

/** How many a draft would reach, and how many lack what its message prints. */
export function useCampaignCount({ audience, channel, content }: Draft, isRight: boolean) {
  const isToPeople = reachesPeople(channel);
  return useCount(isToPeople ? audienceOf(audience) : null, { ...(isToPeople ? { channel: channel as "email" } : {}), ...(isRight ? { content } : {}), sample: 8 });
}
