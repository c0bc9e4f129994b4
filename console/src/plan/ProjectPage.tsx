/** One project: its health, its agents, and its tasks as board, graph, timeline or reports; one task beside them. */
import { FilePlus2, FolderSync, GitFork, ScrollText, SquareKanban, Timer } from "lucide-react";
import { useState, type ReactNode } from "react";
import { stale, useGet, useLast } from "../api/cache";
import { Badge, Button, Failed, Segment, Skeleton } from "../components";
import { anchorOf, type Anchor } from "../components/Dialog";
import { toast } from "../components/toast";
import { useNarrow } from "../components/useNarrow";
import { useFrame } from "../shell/chrome";
import { useKeys } from "../shell/keys";
import { Link, setSearch, useSearch } from "../shell/router";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { AddTask } from "./AddTask";
import { AgentsStrip } from "./AgentsStrip";
import { AskTask } from "./AskTask";
import { Board } from "./Board";
import { DependencyGraph } from "./DependencyGraph";
import { HealthBar } from "./HealthBar";
import { Lanes } from "./Lanes";
import { useLivePlan } from "./planEvents";
import { Reports } from "./Reports";
import { agentsPath, deadlocksPath, projectPath, statePath, tasksPath } from "./requests";
import { SyncDialog } from "./SyncDialog";
import { TaskDrawer } from "./TaskDrawer";
import { columnOf, workflowStanding } from "./taskStanding";
import { WorkflowBar, WorkflowControls } from "./WorkflowControls";
import type { Agent, Deadlock, Items, Project, Task, TaskVerb, Workflow } from "./types";

const VIEWS = ["board", "graph", "lanes", "reports"] as const;
const ICONS = { board: SquareKanban, graph: GitFork, lanes: Timer, reports: ScrollText };

/** Opens the question before a move of a task. */
export type Ask = (task: Task, verb: TaskVerb, from: Element | null) => void;

export function ProjectPage({ id }: { id: string }): ReactNode {
  const { t } = useWords();
  const answer = useGet<Project>(projectPath(id));
  const project = useLast(answer.data);
  useFrame([{ text: t.plan.title, to: "/plans" }, { text: project ? project.title || project.name : id }]);
  useLivePlan(id, project?.run ?? null);
  if (!project) return answer.error ? <Failed page error={answer.error} retry={answer.reload} /> : <div className="pad"><Skeleton h={48} w="50%" /><Skeleton h={60} /><Skeleton h={300} /></div>;
  return <Loaded project={project} />;
}

function Loaded({ project }: { project: Project }): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  const { me } = useSession();
  const narrow = useNarrow();
  const search = useSearch();
  const view = VIEWS.find((each) => each === search.get("view")) ?? "board";
  const tasks = useGet<Items<Task>>(tasksPath(project.id));
  const all = useLast(tasks.data)?.items;
  const agents = useLast(useGet<Items<Agent>>(agentsPath(project.id)).data)?.items ?? [];
  const workflow = useLast(useGet<Workflow>(statePath(project.id)).data);
  const deadlocks = useLast(useGet<Items<Deadlock>>(deadlocksPath(project.id)).data)?.items ?? [];
  const [asked, setAsked] = useState<{ task: Task; verb: TaskVerb; anchor: Anchor | null } | null>(null);
  const [open, setOpen] = useState<"add" | "sync" | null>(null);
  const picked = search.get("task");
  const pick = (task: string | null) => setSearch({ task, session: null, ...(task === null ? { tab: null } : {}) });
  useKeys({ Escape: () => picked !== null && pick(null) });
  const ask: Ask = (task, verb, from) => setAsked({ task, verb, anchor: anchorOf(from) });
  const { tone, state, word } = workflowStanding({ status: workflow?.status ?? project.status, stopping: workflow?.stopping, why: workflow?.why }, t);
  const finished = all?.filter((task) => columnOf(task) === "finished").length ?? 0;
  const working = all?.filter((task) => columnOf(task) === "in_progress").length ?? 0;
  const drawer = picked !== null && <TaskDrawer key={picked} project={project} id={picked} onAsk={ask} onClose={() => pick(null)} onPick={pick} />;
  return (
    <div className={`plan ${picked === null ? "" : "plan-one"}`}>
      <header className="run-head plan-head">
        <div className="run-title">
          <div className="grow">
            <h1>{project.title || project.name} <Badge tone={tone} state={state}>{word}</Badge></h1>
            <p className="run-meta">
              {all && <span>{p.summary(f.number(finished), f.number(all.length), f.number(working), f.number(workflow?.maxConcurrent ?? project.maxConcurrent))}</span>}
              {workflow?.startedAt != null && <span>{p.startedAt(f.when(workflow.startedAt, Date.now()))}</span>}
              {project.run && may(me, "run.read") && <Link to={`/runs/${encodeURIComponent(project.run)}`}>{p.run}</Link>}
              <span className="mono cut" title={project.path}>{project.path}</span>
            </p>
          </div>
          <div className="run-moves">
            <Segment label={p.view} value={view} onChange={(next) => setSearch({ view: next === "board" ? null : next, report: null })} options={VIEWS.map((each) => ({ id: each, text: p.views[each], icon: ICONS[each] }))} />
            {may(me, "plan.write") && <Button icon={FolderSync} onClick={() => setOpen("sync")}>{p.sync}</Button>}
            {may(me, "plan.write") && <Button icon={FilePlus2} onClick={() => setOpen("add")}>{p.addTask}</Button>}
            {workflow && <WorkflowControls project={project} workflow={workflow} ready={all?.filter((task) => task.ready).length ?? 0} working={working} />}
          </div>
        </div>
        <HealthBar project={project} tasks={all ?? []} onAsk={ask} onPick={pick} />
        {workflow && <WorkflowBar workflow={workflow} deadlocks={deadlocks} working={working} onShow={() => setSearch({ view: "graph" })} />}
      </header>
      {!(narrow && picked !== null) && <AgentsStrip agents={agents} tasks={all ?? []} onPick={pick} />}
      <div className={`plan-body ${picked === null ? "" : "plan-open"}`}>
        {!(narrow && picked !== null) && (
          <div className="plan-main">
            {!all && (tasks.error ? <Failed error={tasks.error} retry={tasks.reload} /> : <div className="pad"><Skeleton h={120} n={3} /></div>)}
            {all && view === "board" && <Board tasks={all} most={workflow?.maxConcurrent ?? project.maxConcurrent} picked={picked} onAsk={ask} onPick={pick} />}
            {view === "board" && <Lanes project={project.id} agents={agents} tasks={all ?? []} onPick={pick} />}
            {all && view === "graph" && <DependencyGraph project={project} tasks={all} deadlocks={deadlocks} picked={picked} onAsk={ask} onPick={pick} onSync={() => setOpen("sync")} />}
            {view === "lanes" && <Lanes project={project.id} agents={agents} tasks={all ?? []} onPick={pick} whole />}
            {view === "reports" && <Reports project={project.id} />}
          </div>
        )}
        {drawer}
      </div>
      {asked && <AskTask project={project.id} {...asked} onClose={() => setAsked(null)} onDone={() => { toast(p.done[asked.verb]); setAsked(null); stale(projectPath(project.id)); }} />}
      {open === "add" && <AddTask project={project.id} tasks={all ?? []} agents={agents} onClose={() => setOpen(null)} onDone={(made) => { setOpen(null); toast(p.add.done(made)); stale(projectPath(project.id)); pick(made); }} />}
      {open === "sync" && <SyncDialog project={project.id} onClose={() => setOpen(null)} onDone={() => { setOpen(null); toast(p.syncDone); stale(projectPath(project.id)); }} />}
    </div>
  );
}
