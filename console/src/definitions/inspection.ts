/** The server's check of a text while it is written: 300 ms after the last key, once per text. */
import { useEffect, useState } from "react";
import { ApiError, call } from "../api/client";
import type { Inspected, Problem } from "../api/types";
import { useWords } from "../words";

export interface Inspection {
  /** Of the text as it is now. */
  inspected: Inspected | null;
  /** Of the last text that could be drawn: a drawing stays while its text is broken. */
  last: Inspected | null;
  /** The server could not check it at all: it is too large, or the server was not reached. */
  problem: Problem | null;
  busy: boolean;
}

const AFTER_MS = 300;
/** By tongue and text: findings are worded for who reads them. */
const known = new Map<string, Inspected>();
const keyOf = (text: string): string => `${document.documentElement.lang} ${text}`;

export async function inspect(text: string, signal?: AbortSignal): Promise<Inspected> {
  const key = keyOf(text);
  const cached = known.get(key);
  if (cached) return cached;
  const inspected = await call<Inspected>("/definitions/inspect", { method: "POST", body: { document: text }, signal });
  known.set(key, inspected);
  if (known.size > 30) known.delete(known.keys().next().value as string);
  return inspected;
}

export function useInspection(text: string | null, after = AFTER_MS): Inspection {
  const { locale } = useWords();
  const [state, setState] = useState<{ text: string | null; inspected: Inspected | null; last: Inspected | null; problem: Problem | null }>({ text: null, inspected: null, last: null, problem: null });
  useEffect(() => {
    if (text === null || !text.trim()) {
      setState({ text, inspected: null, last: null, problem: null });
      return;
    }
    const stop = new AbortController();
    const timer = window.setTimeout(() => {
      inspect(text, stop.signal).then(
        (inspected) => setState((was) => ({ text, inspected, last: inspected.graph ? inspected : was.last, problem: null })),
        (error: unknown) => !stop.signal.aborted && setState((was) => ({ ...was, text, inspected: null, problem: error instanceof ApiError ? error.problem : { title: "", status: 0, code: "", detail: String(error) } as Problem })),
      );
    }, known.has(keyOf(text)) ? 0 : after);
    return () => {
      window.clearTimeout(timer);
      stop.abort();
    };
  }, [text, after, locale]);
  const current = state.text === text;
  return { inspected: current ? state.inspected : null, last: state.last, problem: current ? state.problem : null, busy: !current && !!text?.trim() };
}
