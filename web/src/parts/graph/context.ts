import { createContext } from "react";

interface GraphCalls {
  canEdit: boolean;
  /** Put a node into the middle of an edge. */
  onInsert?: (edge: string, at: { x: number; y: number }) => void;
}

export const GraphContext = createContext<GraphCalls>({ canEdit: false });
