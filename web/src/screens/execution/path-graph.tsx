import type { ExecutionPath } from "@tidings/client";
import { useMemo } from "react";
import { GraphView } from "../../parts/graph/graph-view";
import { text } from "../../text";
import { marksOf } from "./path-marks";
import { useDefinition } from "./use-execution";

interface PathGraphProps {
  path: ExecutionPath;
  selected: string | undefined;
  onSelect: (node: string | undefined) => void;
}

/** The graph of its version, with the way that was taken. */
export function PathGraph({ path, selected, onSelect }: PathGraphProps) {
  const definition = useDefinition(path);
  const marks = useMemo(() => marksOf(path), [path]);
  if (!definition) return null;
  return <GraphView definition={definition} label={text.executions.graph} marks={marks} selected={selected} onSelect={onSelect} />;
}
