import { lazy, Suspense } from "react";
import type { PlotProps } from "./plot-view";

const View = lazy(() => import("./plot-view"));

export type { PlotProps, Series } from "./plot-view";

/** Numbers over time, with the sum of each line below. */
export function Plot(props: PlotProps) {
  return (
    <Suspense fallback={<div style={{ height: props.height ?? 200 }} />}>
      <View {...props} />
    </Suspense>
  );
}
