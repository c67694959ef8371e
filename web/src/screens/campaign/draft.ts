/** What is being written, and the campaign of the API that it is. */
import type { Campaign, GivenCampaign } from "@tidings/client";
import { type AudienceDraft, audienceOf, draftOf, EMPTY_AUDIENCE } from "../../parts/audience/filter";
import type { JsonObject } from "../../parts/graph/definition";

export const CHANNELS = ["email", "sms", "whatsapp", "push", "voice", "social", "chat", "webhook"] as const;
export type CampaignChannel = (typeof CHANNELS)[number];

/** Channels whose contacts have addresses; the others post to accounts, and have no audience. */
const TO_PEOPLE: readonly string[] = ["email", "sms", "whatsapp", "push", "voice"];

export interface Draft {
  name: string;
  channel: CampaignChannel;
  content: JsonObject;
  audience: AudienceDraft;
  /** Numbers and times as they are typed; empty for none. */
  sendHour: string;
  timeZone: string;
  rate: string;
  latenessHours: string;
}

export const NEW_DRAFT: Draft = {
  name: "",
  channel: "email",
  content: {},
  audience: EMPTY_AUDIENCE,
  sendHour: "",
  timeZone: "contact",
  rate: "",
  latenessHours: "",
};

export function reachesPeople(channel: string): boolean {
  return TO_PEOPLE.includes(channel);
}

export function draftFrom(campaign: Campaign): Draft {
  return {
    name: campaign.name,
    channel: campaign.channel as CampaignChannel,
    content: campaign.content as JsonObject,
    audience: draftOf(campaign.audience),
    sendHour: campaign.sendHour === null ? "" : String(campaign.sendHour),
    timeZone: campaign.timeZone,
    rate: campaign.rate === null ? "" : String(campaign.rate),
    latenessHours: hoursOf(campaign.maxLateness),
  };
}

/** The whole campaign for the API; a name that is not there yet is given one, so that the rest can be checked. */
export function givenOf(draft: Draft, name = draft.name): GivenCampaign {
  return {
    name,
    channel: draft.channel,
    content: draft.content,
    audience: reachesPeople(draft.channel) ? audienceOf(draft.audience) : null,
    sendHour: draft.sendHour === "" ? null : Number(draft.sendHour),
    timeZone: draft.timeZone.trim() || null,
    rate: draft.rate.trim() === "" ? null : Number(draft.rate),
    maxLateness: draft.latenessHours.trim() === "" ? null : Number(draft.latenessHours) * 3_600,
  };
}

/** Whether both would be stored alike. */
export function isSame(one: Draft, other: Draft): boolean {
  return JSON.stringify(givenOf(one)) === JSON.stringify(givenOf(other));
}

const DURATION = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/;

/** `P1DT2H` is `26`. */
export function hoursOf(duration: string | null): string {
  const [, days, hours, minutes, seconds] = DURATION.exec(duration ?? "") ?? [];
  const sum = Number(days ?? 0) * 24 + Number(hours ?? 0) + Number(minutes ?? 0) / 60 + Number(seconds ?? 0) / 3_600;
  return sum ? String(Math.round(sum * 100) / 100) : "";
}
