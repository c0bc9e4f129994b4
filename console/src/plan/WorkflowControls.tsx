/** What people do with the whole plan: start, stop, resume, reset; and the sentence that says why it stands still. */
import { CircleCheck, OctagonX, Pause, Play, RotateCcw, Square, type LucideIcon } from "lucide-react";
import { useRef, useState, type ReactNode } from "react";
import { stale, useGet } from "../api/cache";
import { ApiError, newKey } from "../api/client";
import { Button } from "../components";
import { anchorOf, Dialog, type Anchor } from "../components/Dialog";
import { toast } from "../components/toast";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import { issueText } from "./HealthBar";
import { healthPath, moveWorkflow, projectPath } from "./requests";
import { isStopping } from "./taskStanding";
import type { Deadlock, Health, Project, Workflow, WorkflowVerb } from "./types";

const ICON: Record<WorkflowVerb, LucideIcon> = { start: Play, stop: Square, "stop-now": OctagonX, resume: Play, reset: RotateCcw };
const ORDER: WorkflowVerb[] = ["reset", "stop-now", "stop", "resume", "start"];
const PERMISSION: Record<WorkflowVerb, string> = { start: "plan.write", stop: "plan.write", "stop-now": "plan.write", resume: "plan.write", reset: "plan.admin" };
const UNHEALTHY = "PROJECT-409-HEALTH";

interface Props {
  project: Project;
  workflow: Workflow;
  ready: number;
  working: number;
}

export function WorkflowControls({ project, workflow, ready, working }: Props): ReactNode {
  const { t } = useWords();
  const { me } = useSession();
  const [asked, setAsked] = useState<{ verb: WorkflowVerb; anchor: Anchor | null } | null>(null);
  return (
    <>
      {ORDER.filter((verb) => workflow.moves.includes(verb) && may(me, PERMISSION[verb])).map((verb) => (
        <Button key={verb} icon={ICON[verb]} look={verb === "start" || verb === "resume" ? "primary" : verb === "reset" ? "plain" : "danger"} onClick={(event) => setAsked({ verb, anchor: anchorOf(event.currentTarget) })}>{t.plan.control[verb]}</Button>
      ))}
      {asked && <AskWorkflow project={project} workflow={workflow} ready={ready} working={working} {...asked} onClose={() => setAsked(null)} />}
    </>
  );
}

function AskWorkflow({ project, workflow, ready, working, verb, anchor, onClose }: Props & { verb: WorkflowVerb; anchor: Anchor | null; onClose: () => void }): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  const key = useRef(newKey());
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const { data: health } = useGet<Health>(verb === "start" ? healthPath(project.id) : null);
  const refused = problem instanceof ApiError && problem.problem.code === UNHEALTHY;
  const force = verb === "start" && (refused || health?.status === "error");
  const send = async () => {
    setSending(true);
    setProblem(null);
    try {
      await moveWorkflow(project.id, verb, force, key.current);
      toast(p.controlDone[verb]);
      stale(projectPath(project.id));
      onClose();
    } catch (error) {
      if (error instanceof ApiError) key.current = newKey();
      setProblem(error);
      setSending(false);
      stale(healthPath(project.id));
    }
  };
  const label = force ? p.forceAsk : p.askControl[verb];
  return (
    <Dialog label={label} anchor={anchor} look="popover" onClose={onClose}>
      <h2>{label}</h2>
      <p className="dim"><b>{project.title || project.name}</b></p>
      {force && <ul className="plan-effects plan-issues">{(health?.issues ?? []).map((issue) => <li key={`${issue.kind} ${issue.subject}`}>{issueText(issue, t)}</li>)}</ul>}
      <ul className="plan-effects">{p.controlEffect[verb](f.number(ready), f.number(workflow.maxConcurrent), f.number(working)).map((text) => <li key={text}>{text}</li>)}</ul>
      {problem !== null && !refused && <p className="bad" role="alert">{errorText(problem, t)}</p>}
      <div className="dialog-foot">
        <Button data-first onClick={onClose}>{p.keep}</Button>
        <Button look={force || verb === "stop-now" || verb === "reset" ? "danger" : "primary"} icon={ICON[verb]} disabled={sending} onClick={() => void send()}>{force ? p.forceDo : p.control[verb]}</Button>
      </div>
    </Dialog>
  );
}

/** Why the plan stands still; nothing while it runs or has not begun. */
export function WorkflowBar({ workflow, deadlocks, working, onShow }: { workflow: Workflow; deadlocks: Deadlock[]; working: number; onShow: () => void }): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  const cycles = deadlocks.filter((each) => each.removed.length === 0);
  const done = workflow.status === "completed";
  if (workflow.status !== "paused" && !isStopping(workflow) && !done && !workflow.warning) return null;
  const text = isStopping(workflow) ? p.stoppingNow(f.number(working)) : done ? p.allDone : workflow.status === "paused" ? (p.pausedBecause[workflow.why] ?? p.pausedElse(workflow.why)) : workflow.warning;
  const Icon = done ? CircleCheck : Pause;
  const tone = done ? "done" : workflow.why === "fatal" ? "failed" : "held";
  return (
    <div className={`why tone-${tone}`} role="status">
      <Icon size={18} aria-hidden />
      <p className="grow">{text}</p>
      {cycles.length > 0 && <Button onClick={onShow}>{p.showCycle}</Button>}
    </div>
  );
}
