/** What somebody typed and has not sent yet. It stays on this device, per person and item, until it is sent. */
import { useCallback, useEffect, useRef, useState } from "react";
import type { Dict } from "../api/types";

export interface Draft {
  comment: string;
  form: Dict;
}

/** A decision on its way: with its key, so that sending it again is the same decision. */
export interface Pending {
  verb: "approve" | "reject" | "judge" | "respond";
  body: Dict;
  key: string;
}

const EMPTY: Draft = { comment: "", form: {} };

function read<T>(name: string): T | null {
  try {
    const text = localStorage.getItem(name);
    return text ? (JSON.parse(text) as T) : null;
  } catch {
    return null;
  }
}

function write(name: string, value: unknown): void {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // a full or closed storage must not stop anybody from typing
  }
}

/** `name` is the person and the item. Saved 500 ms after the last key, and when the page goes away. */
export function useDraft(name: string): { draft: Draft; set: (draft: Draft) => void; saved: boolean; clear: () => void } {
  const at = `ps.draft.${name}`;
  const [draft, setDraft] = useState<Draft>(() => read<Draft>(at) ?? EMPTY);
  const [saved, setSaved] = useState(() => read<Draft>(at) !== null);
  const latest = useRef({ draft, dirty: false });
  const flush = useCallback(() => {
    if (!latest.current.dirty) return;
    latest.current.dirty = false;
    const { comment, form } = latest.current.draft;
    write(at, comment || Object.keys(form).length ? latest.current.draft : null);
    setSaved(!!comment || Object.keys(form).length > 0);
  }, [at]);
  useEffect(() => {
    const timer = window.setTimeout(flush, 500);
    return () => window.clearTimeout(timer);
  }, [draft, flush]);
  useEffect(() => {
    window.addEventListener("pagehide", flush);
    return () => {
      window.removeEventListener("pagehide", flush);
      flush();
    };
  }, [flush]);
  const set = (next: Draft) => {
    latest.current = { draft: next, dirty: true };
    setSaved(false);
    setDraft(next);
  };
  const clear = () => {
    latest.current = { draft: EMPTY, dirty: false };
    write(at, null);
    setDraft(EMPTY);
    setSaved(false);
  };
  return { draft, set, saved, clear };
}

export const readPending = (name: string): Pending | null => read<Pending>(`ps.pending.${name}`);
export const writePending = (name: string, pending: Pending | null): void => write(`ps.pending.${name}`, pending);
