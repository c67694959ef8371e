import type { Validated } from "@tidings/client";
import type { Draft } from "./draft";

/** What every step of a campaign is given. */
export interface StepProps {
  draft: Draft;
  change: (some: Partial<Draft>) => void;
  mayDefine: boolean;
  checks: Validated | undefined;
}
