/** A long run comes with its newest firings; the others follow page by page, and are laid under them. */
import { useEffect, useMemo, useState } from "react";
import { call } from "../api/client";
import type { Firing, FiringPage, Run } from "../api/types";

const PAGE = 200;
/** As many rows as a timeline can show; the counts are always of all. */
const MOST = 2000;

type Known = { run: string; firings: Map<string, Firing> };

/** The run with all of its firings, as far as they have come. */
export function useAllFirings(run: Run | undefined): Run | undefined {
  const [known, setKnown] = useState<Known>({ run: "", firings: new Map() });
  const id = run?.id ?? "";
  const older = run?.older ?? null;
  useEffect(() => {
    if (!run || older === null) return;
    const stop = new AbortController();
    void fetchOlder(run, known.run === id ? known.firings : new Map(), stop.signal).then((found) => {
      if (found && !stop.signal.aborted) setKnown({ run: id, firings: found });
    });
    return () => stop.abort();
    // what is known changes by this alone
  }, [id, older]);
  return useMemo(() => {
    if (!run || older === null || known.run !== id) return run;
    const whole = new Map(known.firings);
    for (const firing of run.firings) whole.set(firing.id, firing);
    return { ...run, firings: [...whole.values()].sort((one, other) => one.number - other.number) };
  }, [run, known, id, older]);
}

/** Back to what is known already; one that had not ended when it came is asked for again. */
async function fetchOlder(run: Run, known: Map<string, Firing>, signal: AbortSignal): Promise<Map<string, Firing> | null> {
  const found = new Map([...known].filter(([, firing]) => firing.ended_at !== null));
  const whole = known.size > 0 && found.size === known.size;
  let cursor = run.older;
  try {
    while (cursor !== null && found.size < MOST) {
      const page: FiringPage = await call<FiringPage>(`/runs/${encodeURIComponent(run.id)}/firings?limit=${PAGE}&cursor=${encodeURIComponent(cursor)}`, { signal });
      const met = page.items.some((firing) => found.has(firing.id));
      for (const firing of page.items) found.set(firing.id, firing);
      cursor = met && whole ? null : page.next;
    }
  } catch {
    return found.size > known.size ? found : null; // the newest are shown all the same
  }
  return found;
}
