/** The health of a project: how good, why, and what happens by itself. */
import { HeartPulse, RefreshCw } from "lucide-react";
import { useState, type ReactNode } from "react";
import { stale, useGet, useLast } from "../api/cache";
import { Ago, Button } from "../components";
import { toast } from "../components/toast";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import type { Dictionary } from "../words/ko";
import type { Ask } from "./ProjectPage";
import { checkHealth, healthPath, projectPath } from "./requests";
import { HEALTH_TONE, movesOf } from "./taskStanding";
import type { Health, Project, Task } from "./types";

/** In people's words by its kind; a kind that is new here in the server's words. */
export const issueText = (issue: Health["issues"][number], t: Dictionary): string => (t.plan.issue[issue.kind] ? t.plan.issue[issue.kind](issue.subject) : issue.text);

export function HealthBar({ project, tasks, onAsk, onPick }: { project: Project; tasks: Task[]; onAsk: Ask; onPick: (task: string) => void }): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  const { me } = useSession();
  const health = useLast(useGet<Health>(healthPath(project.id)).data);
  const [checking, setChecking] = useState(false);
  if (!health) return null;
  const check = async () => {
    setChecking(true);
    await checkHealth(project.id).catch((error: unknown) => toast(errorText(error, t), { bad: true }));
    setChecking(false);
    stale(projectPath(project.id));
  };
  const [first, ...rest] = [...health.issues].sort((a, b) => Number(b.level === "error") - Number(a.level === "error"));
  const task = first && taskOf(first, tasks);
  const moves = task ? movesOf(task, me) : [];
  const word = p.health[health.status] ?? health.status;
  return (
    <section className={`why plan-health tone-${HEALTH_TONE[health.status] ?? "idle"}`} aria-label={p.columns.health}>
      <HeartPulse size={18} aria-hidden />
      <p className="grow">
        <b>{p.healthIs(word, health.score === null ? null : f.number(health.score))}</b>{" "}
        {first ? `${issueText(first, t)} ${p.itself[first.kind] ?? ""}` : health.status === "unknown" ? p.healthUnknown : p.healthFine}
        {rest.length > 0 && <span className="dim"> {p.issuesMore(f.number(rest.length))}</span>}
        {health.checkedAt !== null && <span className="dim"> · <Ago time={health.checkedAt} /></span>}
      </p>
      {task && <Button onClick={() => onPick(task.id)}>{p.seeTask(task.id)}</Button>}
      {task && moves.includes("cancel") && <Button look="danger" onClick={(event) => onAsk(task, "cancel", event.currentTarget)}>{p.move.cancel}</Button>}
      {may(me, "plan.write") && <Button icon={RefreshCw} disabled={checking} onClick={() => void check()}>{p.check}</Button>}
    </section>
  );
}

/** The task that an issue is about: named itself, by its agent, or by its session. */
function taskOf({ kind, subject }: Health["issues"][number], tasks: Task[]): Task | undefined {
  if (kind === "missing") return undefined;
  return tasks.find((task) => (kind === "stuck" ? task.id === subject : kind === "zombie" ? task.agent === subject && task.status === "in_progress" : task.session === subject));
}
