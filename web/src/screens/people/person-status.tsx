import type { User } from "@tidings/client";
import { text } from "../../text";
import { Status, type Tone } from "../../ui/status";
import { useNow } from "../../ui/time";
import { type PersonState, stateOf } from "./roles";

const TONES: Readonly<Record<PersonState, Tone>> = { active: "good", invited: "info", expired: "warn", disabled: "quiet" };

/** Whether somebody can sign in. */
export function PersonStatus({ user }: { user: User }) {
  const state = stateOf(user, useNow());
  return (
    <Status state={state} tone={TONES[state]}>
      {text.people.states[state]}
    </Status>
  );
}
