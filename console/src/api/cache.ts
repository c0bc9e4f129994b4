/** A cache of answers by address: shown at once, and refetched when an event makes them stale. */
import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { call } from "./client";

interface Entry {
  data: unknown;
  error: unknown;
  loading: boolean;
  at: number;
  users: number;
  again: boolean;
  version: number;
  listeners: Set<() => void>;
}

const entries = new Map<string, Entry>();
/** Items that I am closing: refetching one would only return 409. */
const closing = new Set<string>();

export interface Answer<T> {
  data: T | undefined;
  error: unknown;
  loading: boolean;
  /** When the data came, in ms since the epoch. */
  at: number;
  reload: () => void;
}

function entryOf(path: string): Entry {
  let entry = entries.get(path);
  if (!entry) {
    entry = { data: undefined, error: undefined, loading: false, at: 0, users: 0, again: false, version: 0, listeners: new Set() };
    entries.set(path, entry);
  }
  return entry;
}

function notify(entry: Entry): void {
  entry.version += 1;
  entry.listeners.forEach((listener) => listener());
}

async function load(path: string): Promise<void> {
  const entry = entryOf(path);
  if (entry.loading) {
    entry.again = true; // the answer on its way may be older than the event
    return;
  }
  entry.loading = true;
  notify(entry);
  try {
    entry.data = await call<unknown>(path);
    entry.error = undefined;
    entry.at = Date.now();
  } catch (error) {
    entry.error = error;
  }
  entry.loading = false;
  notify(entry);
  if (entry.again) {
    entry.again = false;
    void load(path);
  }
}

/** The answer of GET `path`; null fetches nothing. Old data stays while new data is loaded. */
export function useGet<T>(path: string | null): Answer<T> {
  const subscribe = useMemo(
    () => (listener: () => void) => {
      if (path === null) return () => undefined;
      const entry = entryOf(path);
      entry.listeners.add(listener);
      return () => entry.listeners.delete(listener);
    },
    [path],
  );
  useSyncExternalStore(subscribe, () => (path === null ? -1 : entryOf(path).version));
  useEffect(() => {
    if (path === null) return;
    const entry = entryOf(path);
    entry.users += 1;
    // several parts of a page may show one answer: it is asked for once
    if (!entry.loading && Date.now() - entry.at > 2000) void load(path);
    return () => {
      entry.users -= 1;
      if (entries.size > 80) forget();
    };
  }, [path]);
  const entry = path === null ? undefined : entryOf(path);
  return {
    data: entry?.data as T | undefined,
    error: entry?.error,
    loading: entry?.loading ?? false,
    at: entry?.at ?? 0,
    reload: () => path !== null && void load(path),
  };
}

/** The last data, while the next address is loaded: a filter must not blank the table. */
export function useLast<T>(data: T | undefined): T | undefined {
  const last = useRef<T | undefined>(undefined);
  if (data !== undefined) last.current = data;
  return data ?? last.current;
}

/** Refetches answers whose address begins with a prefix, and drops those that no screen shows. */
export function stale(...prefixes: string[]): void {
  for (const [path, entry] of entries) {
    if (closing.has(path) || !prefixes.some((prefix) => path === prefix || path.startsWith(prefix))) continue;
    if (entry.users > 0) void load(path);
    else entries.delete(path);
  }
}

export function close(path: string, on: boolean): void {
  if (on) closing.add(path);
  else closing.delete(path);
}

export function put(path: string, data: unknown): void {
  const entry = entryOf(path);
  entry.data = data;
  entry.error = undefined;
  entry.at = Date.now();
  notify(entry);
}

/** Everything is stale; `empty` removes it at once, because it belongs to another person. */
export function forgetAll(empty = false): void {
  for (const [path, entry] of entries) {
    if (empty) entry.data = undefined;
    if (closing.has(path)) continue;
    if (entry.users > 0) void load(path);
    else entries.delete(path);
  }
}

function forget(): void {
  for (const [path, entry] of entries) if (entry.users === 0) entries.delete(path);
}
