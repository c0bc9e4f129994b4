/** What waits now in the runs of a definition: its open items, and where its runs rest. */
import { useMemo } from "react";
import { useGet } from "../api/cache";
import type { Page, RunSummary } from "../api/types";
import { languageOf } from "../languages";
import type { Waiting, WaitingItem } from "../languages/contract";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";

const NONE: Waiting = { items: new Map(), counts: new Map(), more: false };

/** `open` is how many runs there are: without any, nothing is fetched. */
export function useWaiting(name: string, version: number, language: string, open: number): Waiting {
  const { me } = useSession();
  const { t } = useWords();
  const source = languageOf(language).document?.waiting;
  const wanted = open > 0 && may(me, "run.read");
  const runs = useGet<Page<RunSummary>>(wanted ? `/runs?name=${encodeURIComponent(name)}&version=${version}&state=RUNNING,WAITING&limit=200` : null).data;
  const answer = useGet<unknown>(wanted && source && may(me, source.permission) ? source.path : null).data;
  return useMemo(() => {
    if (!runs) return NONE;
    const open = source && answer !== undefined ? source.read(answer, t) : { items: [], more: false };
    const ids = new Set(runs.items.map((run) => run.id));
    const items = new Map<string, WaitingItem[]>();
    for (const item of open.items) if (ids.has(item.run)) items.set(item.node, [...(items.get(item.node) ?? []), item]);
    const counts = new Map([...items].map(([node, there]) => [node, there.length]));
    const counted = new Set([...items.values()].flat().map((item) => `${item.run} ${item.node}`));
    for (const run of runs.items) if (run.node && !counted.has(`${run.id} ${run.node}`)) counts.set(run.node, (counts.get(run.node) ?? 0) + 1);
    return { items, counts, more: runs.next !== null || open.more };
  }, [runs, answer, source, t]);
}
