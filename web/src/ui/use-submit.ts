import { type SubmitEvent, useState } from "react";

interface Submit {
  busy: boolean;
  problem: unknown;
  /** Give it to `<form onSubmit>`. */
  onSubmit: (event: SubmitEvent) => void;
}

/** Submit a form once at a time, and keep what went wrong until the next try. */
export function useSubmit(act: () => Promise<unknown>): Submit {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const run = async () => {
    setBusy(true);
    setProblem(null);
    try {
      await act();
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!busy) void run();
  };
  return { busy, problem, onSubmit };
}
