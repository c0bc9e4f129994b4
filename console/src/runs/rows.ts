/** The rows of the list: known ones change in place, new ones wait until somebody shows them, more come by cursor. */
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { call } from "../api/client";
import type { Page, RunSummary } from "../api/types";

/** The first page is small, so that it is there at once; later pages are as large as the server allows. */
export const FIRST = 50;
const NEXT = 200;
/** Some filters are applied after a page is read, so a page may be empty and the next not: so many are tried. */
const EMPTY_PAGES = 20;

interface LoadedRows {
  path: string;
  rows: RunSummary[];
  next: string | null;
}

export interface Rows {
  rows: RunSummary[];
  /** How many new rows wait to be shown. */
  fresh: number;
  showFresh: () => void;
  next: string | null;
  more: () => void;
  loading: boolean;
  error: unknown;
}

export const pageOf = (path: string, cursor: string): Promise<Page<RunSummary>> =>
  call<Page<RunSummary>>(`${path}${path.includes("?") ? "&" : "?"}limit=${NEXT}&cursor=${encodeURIComponent(cursor)}`);

/** `path` is the list without a limit, `first` its first page; `current` tells that `first` belongs to `path`. */
export function useRows(path: string, first: Page<RunSummary> | undefined, current: boolean): Rows {
  const [loaded, setLoaded] = useState<LoadedRows | null>(null);
  const [loading, setLoading] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const tried = useRef(0);
  useEffect(() => {
    if (!first || !current) return;
    setLoaded((before) => {
      if (!before || before.path !== path) return { path, rows: first.items, next: first.next };
      const now = new Map(first.items.map((row) => [row.id, row]));
      return { ...before, rows: before.rows.map((row) => now.get(row.id) ?? row) };
    });
  }, [first, path, current]);
  useEffect(() => {
    tried.current = 0;
    setError(null);
  }, [path]);
  const rows = loaded?.rows ?? first?.items ?? [];
  const known = useMemo(() => new Set(rows.map((row) => row.id)), [rows]);
  const waiting = loaded?.path === path && loaded.rows.length > 0 ? (first?.items ?? []).filter((row) => !known.has(row.id)) : [];
  const showFresh = useCallback(() => {
    if (first) setLoaded((before) => before && { ...before, rows: [...first.items, ...before.rows.filter((row) => !first.items.some((item) => item.id === row.id))] });
  }, [first]);
  const more = useCallback(async () => {
    if (!loaded?.next || loaded.path !== path || loading) return;
    setLoading(true);
    setError(null);
    try {
      const page = await pageOf(path, loaded.next);
      setLoaded((before) => {
        if (!before || before.path !== path) return before;
        const there = new Set(before.rows.map((row) => row.id));
        return { ...before, rows: [...before.rows, ...page.items.filter((row) => !there.has(row.id))], next: page.next };
      });
    } catch (problem) {
      setError(problem);
    } finally {
      setLoading(false);
    }
  }, [loaded, path, loading]);
  const searching = loaded?.path === path && loaded.rows.length === 0 && loaded.next !== null && !error;
  useEffect(() => {
    if (!searching || loading || tried.current >= EMPTY_PAGES) return;
    tried.current += 1;
    void more();
  }, [searching, loading, more]);
  return { rows, fresh: waiting.length, showFresh, next: loaded?.next ?? null, more: () => void more(), loading, error };
}
