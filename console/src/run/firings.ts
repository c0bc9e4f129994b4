/** All firings of a run: the run comes with the newest, and the older ones are loaded page by page. */
import { useEffect, useMemo, useState } from "react";
import { call } from "../api/client";
import type { Firing, FiringPage, Run } from "../api/types";

const PAGE = 200;
/** As many rows as a timeline can show. */
const MOST = 2000;

type Known = { run: string; firings: Map<string, Firing> };

/** The run with all firings that are loaded so far. */
export function useAllFirings(run: Run | undefined): Run | undefined {
  const [known, setKnown] = useState<Known>({ run: "", firings: new Map() });
  const id = run?.id ?? "";
  const older = run?.older ?? null;
  useEffect(() => {
    if (!run || older === null) return;
    const stop = new AbortController();
    void fetchOlder(run, known.run === id ? known.firings : new Map(), stop.signal).then((firings) => {
      if (firings && !stop.signal.aborted) setKnown({ run: id, firings });
    });
    return () => stop.abort();
    // only this effect changes what is known
  }, [id, older]);
  return useMemo(() => {
    if (!run || older === null || known.run !== id) return run;
    const all = new Map(known.firings);
    for (const firing of run.firings) all.set(firing.id, firing);
    return { ...run, firings: [...all.values()].sort((a, b) => a.number - b.number) };
  }, [run, known, id, older]);
}

/** Loads back to the firings that are known and have ended; the others are loaded again. */
async function fetchOlder(run: Run, known: Map<string, Firing>, signal: AbortSignal): Promise<Map<string, Firing> | null> {
  const firings = new Map([...known].filter(([, firing]) => firing.ended_at !== null));
  const complete = known.size > 0 && firings.size === known.size;
  let cursor = run.older;
  try {
    while (cursor !== null && firings.size < MOST) {
      const page: FiringPage = await call<FiringPage>(`/runs/${encodeURIComponent(run.id)}/firings?limit=${PAGE}&cursor=${encodeURIComponent(cursor)}`, { signal });
      const met = page.items.some((firing) => firings.has(firing.id));
      for (const firing of page.items) firings.set(firing.id, firing);
      cursor = met && complete ? null : page.next;
    }
  } catch {
    return firings.size > known.size ? firings : null; // the newest are shown all the same
  }
  return firings;
}
