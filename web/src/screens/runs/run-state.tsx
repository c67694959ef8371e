import type { Run } from "@tidings/client";
import { Status, toneOf } from "../../ui/status";

/** The state of a run with what hides behind it: paused, in doubt, waiting. */
export function RunState({ run }: { run: Run }) {
  const tone = run.cancelled ? "quiet" : run.paused ? "warn" : toneOf(run.status);
  const said = run.statusText || run.status;
  return (
    <Status state={run.status} tone={tone}>
      {said.charAt(0).toUpperCase() + said.slice(1)}
    </Status>
  );
}
