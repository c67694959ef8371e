import type { Draft } from "./draft";
import type { Checks } from "./use-checks";

/** What every step of a campaign is given. */
export interface StepProps extends Checks {
  draft: Draft;
  change: (some: Partial<Draft>) => void;
  mayDefine: boolean;
}
