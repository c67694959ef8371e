/** Following what changes, for as long as a component is there. */
import { useEffect, useRef, useState } from "react";

export type StreamState = "open" | "ended" | "lost";

const PAUSE_MS = 5_000;

/**
 * Call `onChange` for each state of a stream of the client, such as `(signal) => api.executions.follow(id, { signal })`.
 *
 * `key` says what is followed; nothing is followed while it is null. The client comes back by itself when a stream breaks
 * off; when it has given up, this waits and begins again.
 */
export function useStream<State>(
  key: string | null,
  open: (signal: AbortSignal) => AsyncIterable<State>,
  onChange: (state: State) => void,
): StreamState {
  const [state, setState] = useState<StreamState>("open");
  const latest = useRef({ open, onChange });
  useEffect(() => {
    latest.current = { open, onChange };
  });
  useEffect(() => {
    if (key === null) return;
    const stop = new AbortController();
    const follow = async () => {
      for await (const one of latest.current.open(stop.signal)) {
        setState("open");
        latest.current.onChange(one);
      }
    };
    void again(follow, stop.signal, setState);
    return () => stop.abort();
  }, [key]);
  return state;
}

async function again(follow: () => Promise<void>, signal: AbortSignal, say: (state: StreamState) => void): Promise<void> {
  while (!signal.aborted) {
    try {
      await follow();
      say("ended");
      return;
    } catch {
      if (signal.aborted as boolean) return; // the checker does not see that it changes while we wait
      say("lost");
    }
    await new Promise((resume) => setTimeout(resume, PAUSE_MS));
  }
}
