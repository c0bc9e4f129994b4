/** The page of a plan's run: the way back to its project, and from a node to its task. */
import type { ReactNode } from "react";
import type { Dict, Run } from "../api/types";
import type { RunContext, RunParts, RunTabs } from "../languages/contract";
import { Link } from "../shell/router";
import { useWords } from "../words";

export const runParts: RunParts = {
  useTabs,
  crumbs: (run, t) => { const project = projectOf(run); return [{ text: t.plan.title, to: "/plans" }, ...(project ? [{ text: run.title, to: `/plans/${encodeURIComponent(project)}` }] : [])]; },
};

function projectOf(run: Run): string | null {
  const input = run.input;
  const id = typeof input === "object" && input !== null && !Array.isArray(input) ? (input as Dict)["project_id"] : null;
  return typeof id === "string" ? id : null;
}

function useTabs({ run, graph, node }: RunContext): RunTabs {
  const { t } = useWords();
  const project = projectOf(run);
  const drawn = graph?.nodes.find(({ id }) => id === node);
  if (!project || drawn?.type !== "task") return { tabs: [], first: null };
  return { tabs: [{ id: "task", text: t.plan.tab.about, count: 1, body: <TaskLink project={project} task={drawn.id} /> }], first: null };
}

function TaskLink({ project, task }: { project: string; task: string }): ReactNode {
  const { t } = useWords();
  return <section><Link className="btn" to={`/plans/${encodeURIComponent(project)}?task=${encodeURIComponent(task)}`}>{t.plan.seeTask(task)}</Link></section>;
}
