/** A rule while somebody writes it. Its steps are JSON as the API has them, so that nothing is lost that no field shows. */
import type { GivenRule, Rule } from "@tidings/client";
import { type Json, type JsonObject, objectsIn, withField } from "../../../parts/graph/definition";
import type { Schema } from "../../workflows/model/schema";
import { text } from "../../../text";

export interface RuleDraft {
  trigger: string;
  channel: string;
  audience: string;
  enabled: boolean;
  steps: readonly JsonObject[];
}

export const NEW_STEP: JsonObject = { template: {} };

export function draftOf({ trigger, channel, audience, enabled, steps }: Rule): RuleDraft {
  return { trigger, channel, audience, enabled, steps: objectsIn(steps as unknown as Json) };
}

/** The steps in the order in which they stand; a channel of a step is only ever the rule's. */
export function givenOf(draft: RuleDraft): GivenRule {
  const steps = draft.steps.map((step, place) => ({ ...withField(step, "channel", undefined), stepOrder: place + 1 }));
  return { ...draft, steps } as unknown as GivenRule;
}

export function moved<One>(list: readonly One[], from: number, to: number): One[] {
  const next = [...list];
  const [one] = next.splice(from, 1);
  if (one !== undefined) next.splice(to, 0, one);
  return next;
}

const words = text.rules.form;
const yesNo = (title: string): Schema => ({ type: "boolean", title });
const texts = (title: string): Schema => ({ type: "array", title, items: { type: "string" } });

/** What a step has beside its message; the API's own answer has no form of it. */
export const TIMING: Schema = {
  type: "object",
  required: ["delay"],
  properties: {
    delay: { type: "string", format: "duration", title: words.delay },
    recipientConfig: {
      type: "object",
      title: words.recipients,
      description: words.recipientsAbout,
      properties: {
        includeLeadContact: yesNo(words.includeLeadContact),
        includePartner: yesNo(words.includePartner),
        includeAgent: yesNo(words.includeAgent),
        customEmails: texts(words.customEmails),
        customPhones: texts(words.customPhones),
      },
    },
    sendBefore: {
      type: "object",
      title: words.sendBefore,
      description: words.sendBeforeAbout,
      properties: { time: { type: "string", format: "liquid", title: words.time }, by: { type: "string", format: "duration", title: words.by } },
    },
    maxAttempts: { type: "integer", title: words.maxAttempts, minimum: 1, maximum: 20 },
  },
};

/** Data of an event to try a rule with: one name for each variable that its messages print. */
export function exampleEvent(names: readonly string[]): JsonObject {
  const people: JsonObject = { name: "Ada Lovelace", email: "ada@example.com", phone: "+442071838750" };
  const known = new Set(["lead", "partner", "agent", "trigger"]);
  const variables = names.filter((name) => !known.has(name.split(".")[0] ?? ""));
  return variables.reduce<JsonObject>((data, name) => withPath(data, name.split(".")), { lead: people });
}

function withPath(object: JsonObject, [first = "", ...rest]: readonly string[]): JsonObject {
  const inner = object[first];
  if (rest.length === 0) return first in object ? object : { ...object, [first]: first.replaceAll("_", " ") };
  const below = typeof inner === "object" && inner !== null && !Array.isArray(inner) ? (inner as JsonObject) : {};
  return { ...object, [first]: withPath(below, rest) };
}
