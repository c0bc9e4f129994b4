/** What a process brings to the page of a run: its work items, and the compensation of a failed instance. */
import "./run.css";
import { useGet } from "../api/cache";
import type { Instance } from "../api/types";
import type { RunContext, RunParts, RunTabs } from "../languages/contract";
import { useSearch } from "../shell/router";
import { useWords } from "../words";
import { Compensation } from "./Compensation";
import { instancePath } from "./requests";
import { WorkItemList } from "./WorkItemList";

function useTabs({ run, graph, node, at }: RunContext): RunTabs {
  const { t } = useWords();
  const search = useSearch();
  const instance = useGet<Instance>(instancePath(run.id)).data;
  if (!instance || at !== null) return { tabs: [], first: "summary" };
  const items = instance.workitems.filter((item) => !node || item.activity_id === node);
  const steps = instance.compensation.steps.length;
  const compensated = run.state === "COMPENSATED" || run.state === "COMPENSATING" || instance.compensation_status === "PARTIAL";
  return {
    tabs: [
      ...(items.length > 0 ? [{ id: "work", text: t.inbox.title, count: items.length, body: <WorkItemList run={run} items={items} /> }] : []),
      ...(steps > 0 ? [{ id: "undo", text: t.work.undo, count: steps, body: <Compensation run={run} instance={instance} graph={graph} /> }] : []),
    ],
    first: compensated && steps > 0 && !search.has("node") ? "undo" : "summary",
  };
}

export const runParts: RunParts = {
  useTabs,
  outcomes: (t) => [{ tone: "done", word: t.work.approve, text: t.work.approveText }, { tone: "failed", word: t.work.reject, text: t.work.rejectText }],
};
