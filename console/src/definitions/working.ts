/** What runs of a definition now: how many of its work items, and of its runs, rest at each element. */
import { useMemo } from "react";
import { useGet } from "../api/cache";
import type { Page, RunSummary, WorkLine } from "../api/types";
import { may, useSession } from "../shell/session";

export interface Working {
  /** By element, what waits there; the oldest first. */
  items: Map<string, WorkLine[]>;
  counts: Map<string, number>;
  /** There are more than were looked at: the counts are the least there are. */
  more: boolean;
}

const OPEN = "TODO,IN_PROGRESS,SUBMITTED,REWORK";
const NONE: Working = { items: new Map(), counts: new Map(), more: false };

/** `open` is how many runs there are: where none is, nothing is asked. */
export function useWorking(name: string, version: number, language: string, open: number): Working {
  const { me } = useSession();
  const asks = open > 0 && may(me, "run.read");
  const runs = useGet<Page<RunSummary>>(asks ? `/runs?name=${encodeURIComponent(name)}&version=${version}&state=RUNNING,WAITING&limit=200` : null).data;
  const work = useGet<Page<WorkLine>>(asks && language === "process" && may(me, "inbox.read") ? `/processes/workitems?status=${OPEN}&limit=200` : null).data;
  return useMemo(() => {
    if (!runs) return NONE;
    const ours = new Set(runs.items.map((run) => run.id));
    const items = new Map<string, WorkLine[]>();
    for (const one of work?.items ?? []) if (ours.has(one.proc_inst_id)) items.set(one.activity_id, [...(items.get(one.activity_id) ?? []), one]);
    const counts = new Map([...items].map(([node, all]) => [node, all.length]));
    const told = new Set([...items.values()].flat().map((one) => `${one.proc_inst_id} ${one.activity_id}`));
    for (const run of runs.items) if (run.node && !told.has(`${run.id} ${run.node}`)) counts.set(run.node, (counts.get(run.node) ?? 0) + 1);
    return { items, counts, more: runs.next !== null || (work?.next ?? null) !== null };
  }, [runs, work]);
}
