import { useEffect, useState } from "react";

/** A value a moment after it was last changed: what is typed is asked for once. */
export function useLagging<Value extends string>(value: Value, pauseMs = 350): Value {
  const [lagging, setLagging] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLagging(value), pauseMs);
    return () => clearTimeout(timer);
  }, [value, pauseMs]);
  return lagging;
}
