import type { JsonObject } from "../../../parts/graph/definition";
import { isObject } from "../../../parts/graph/definition";
import { carriedOver } from "../../../parts/content/content";
import type { ChannelForm } from "../../workflows/model/schema";

/** The steps of a rule whose channel is another now: their words go along. */
export function carriedIn(steps: readonly JsonObject[], from: ChannelForm, to: ChannelForm): JsonObject[] {
  return steps.map((step) => {
    const { template } = step;
    return { ...step, template: isObject(template) ? carriedOver(template, from, to) : {} };
  });
}
