/** What the server says about a text while it is written: asked 300 ms after the last key, one answer per text. */
import { useEffect, useState } from "react";
import { ApiError, call } from "../api/client";
import type { Inspected, Problem } from "../api/types";

export interface Inspecting {
  /** Of the text as it is now. */
  found: Inspected | null;
  /** Of the last text that could be drawn: a picture stays while its text is broken. */
  last: Inspected | null;
  /** The server cannot look at it at all: too large, or not reached. */
  problem: Problem | null;
  busy: boolean;
}

const AFTER_MS = 300;
const known = new Map<string, Inspected>();

export async function inspect(text: string, signal?: AbortSignal): Promise<Inspected> {
  const held = known.get(text);
  if (held) return held;
  const found = await call<Inspected>("/definitions/inspect", { method: "POST", body: { document: text }, signal });
  known.set(text, found);
  if (known.size > 30) known.delete(known.keys().next().value as string);
  return found;
}

export function useInspecting(text: string | null, after = AFTER_MS): Inspecting {
  const [state, setState] = useState<{ text: string | null; found: Inspected | null; last: Inspected | null; problem: Problem | null }>({ text: null, found: null, last: null, problem: null });
  useEffect(() => {
    if (text === null || !text.trim()) {
      setState({ text, found: null, last: null, problem: null });
      return;
    }
    const stop = new AbortController();
    const timer = window.setTimeout(() => {
      inspect(text, stop.signal).then(
        (found) => setState((was) => ({ text, found, last: found.graph ? found : was.last, problem: null })),
        (error: unknown) => !stop.signal.aborted && setState((was) => ({ ...was, text, found: null, problem: error instanceof ApiError ? error.problem : { title: "", status: 0, code: "", detail: String(error) } as Problem })),
      );
    }, known.has(text) ? 0 : after);
    return () => {
      window.clearTimeout(timer);
      stop.abort();
    };
  }, [text, after]);
  const now = state.text === text;
  return { found: now ? state.found : null, last: state.last, problem: now ? state.problem : null, busy: !now && !!text?.trim() };
}
