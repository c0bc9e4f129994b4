/** One request at a time: the newest wins, and leaving the screen ends it. */
import { useCallback, useEffect, useRef, useState } from "react";

export interface Asking<T> {
  answer: T | null;
  error: unknown;
  running: boolean;
  ask: (work: (signal: AbortSignal) => Promise<T>) => Promise<void>;
}

export function useTrial<T>(): Asking<T> {
  const [state, setState] = useState<{ answer: T | null; error: unknown; running: boolean }>({ answer: null, error: null, running: false });
  const last = useRef<AbortController | null>(null);
  useEffect(() => () => last.current?.abort(), []);
  const ask = useCallback(async (work: (signal: AbortSignal) => Promise<T>) => {
    last.current?.abort();
    const mine = (last.current = new AbortController());
    setState((before) => ({ ...before, running: true }));
    try {
      const answer = await work(mine.signal);
      if (last.current === mine) setState({ answer, error: null, running: false });
    } catch (error) {
      if (last.current === mine && !mine.signal.aborted) setState({ answer: null, error, running: false });
    }
  }, []);
  return { ...state, ask };
}
