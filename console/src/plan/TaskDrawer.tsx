/** One task beside the board: live, worktree, criteria beside the verdict, attempts, and what it asks for. */
import { ArrowLeft, Bot, HeartCrack, X } from "lucide-react";
import { type KeyboardEvent, type ReactNode } from "react";
import { useGet, useLast } from "../api/cache";
import { Badge, Button, Copyable, Failed, Skeleton } from "../components";
import { setSearch, useSearch } from "../shell/router";
import { useSession } from "../shell/session";
import { useNow, useWords } from "../words";
import { About } from "./About";
import { Attempts } from "./Attempts";
import { Criteria } from "./Criteria";
import { LiveLog } from "./LiveLog";
import type { Ask } from "./ProjectPage";
import { taskPath } from "./requests";
import { columnOf, movesOf, reasonOf, standing } from "./taskStanding";
import { WorktreeDiff } from "./WorktreeDiff";
import type { Project, Task, TaskDetail, TaskVerb } from "./types";

const TABS = ["live", "diff", "criteria", "attempts", "about"] as const;
type Tab = (typeof TABS)[number];
const PRIMARY = new Set<TaskVerb>(["review-approve", "execute", "retry"]);
const DANGER = new Set<TaskVerb>(["cancel", "force-complete"]);
/** The weighty ones at the end. */
const ORDER: TaskVerb[] = ["cancel", "force-complete", "complete", "review-reject", "retry", "execute", "review-approve"];

interface Props {
  project: Project;
  id: string;
  onAsk: Ask;
  onClose: () => void;
  onPick: (task: string) => void;
}

export function TaskDrawer({ project, id, onAsk, onClose, onPick }: Props): ReactNode {
  const { t } = useWords();
  const answer = useGet<TaskDetail>(taskPath(project.id, id));
  const detail = useLast(answer.data);
  return (
    <aside className="panel task-drawer" aria-label={t.plan.panel}>
      <div className="task-close"><Button look="quiet" icon={ArrowLeft} className="task-back" onClick={onClose}>{t.nav.back}</Button><Button look="icon" className="task-x" aria-label={t.plan.closePanel} title={t.plan.closePanel} onClick={onClose}><X size={16} aria-hidden /></Button></div>
      {!detail && (answer.error ? <Failed error={answer.error} retry={answer.reload} /> : <div className="panel-empty"><Skeleton h={24} n={6} /></div>)}
      {detail && <Shown project={project} detail={detail} onAsk={onAsk} onPick={onPick} />}
    </aside>
  );
}

function Shown({ project, detail, onAsk, onPick }: { project: Project; detail: TaskDetail; onAsk: Ask; onPick: (task: string) => void }): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  const search = useSearch();
  const { task, executions } = detail;
  const { tone, state, word, icon } = standing(task, t);
  const newest = executions[0];
  const wanted = executions.find((each) => each.session === search.get("session"));
  const session = wanted?.session ?? task.session ?? newest?.session ?? null;
  const shown = executions.find((each) => each.session === session);
  const changed = wanted ?? executions.find((each) => each.hasDiff) ?? newest;
  const met = detail.criteria.filter((each) => each.matched === true).length;
  const counts: Record<Tab, ReactNode> = {
    live: null, diff: changed?.diffStat && changed.hasDiff ? <><span className="ink-done">+{f.number(changed.diffStat.added)}</span> <span className="ink-failed">−{f.number(changed.diffStat.removed)}</span></> : null,
    criteria: detail.criteria.length ? `${met}/${detail.criteria.length}` : null, attempts: executions.length || null, about: null,
  };
  const first: Tab = columnOf(task) === "review" ? "criteria" : session !== null ? "live" : "about";
  const tab = TABS.find((each) => each === search.get("tab")) ?? first;
  return (
    <>
      <header>
        <p className="dim panel-kind"><Copyable text={task.id} />{task.agent && <> · <Bot size={13} aria-hidden /> <span className="mono">{task.agent}</span></>}</p>
        <h2>{task.title}</h2>
        <p className="task-state"><Badge tone={tone} state={state} icon={icon}>{word}</Badge>{task.completedByRecovery && <Badge tone="undone" icon={HeartCrack}>{p.byRecovery}</Badge>}<Why task={task} /></p>
      </header>
      <div className="tabs" role="tablist" aria-label={p.panel} onKeyDown={moveBetweenTabs}>
        {TABS.map((each) => <button key={each} type="button" role="tab" id={`task-tab-${each}`} aria-selected={each === tab} aria-controls="task-body" tabIndex={each === tab ? 0 : -1} onClick={() => setSearch({ tab: each })}>{p.tab[each]}{counts[each] !== null && <> <span>{counts[each]}</span></>}</button>)}
      </div>
      <div className={`panel-body ${tab === "live" ? "task-live" : ""}`} id="task-body" role="tabpanel" aria-labelledby={`task-tab-${tab}`} tabIndex={0}>
        {tab === "live" && (session === null ? <p className="panel-empty dim">{p.noSession}</p> : <LiveLog key={session} project={project.id} session={session} execution={shown} />)}
        {tab === "diff" && <WorktreeDiff project={project.id} execution={changed} />}
        {tab === "criteria" && <Criteria detail={detail} trusted={project.trusted} execution={shown ?? newest} />}
        {tab === "attempts" && <Attempts executions={executions} shown={session} />}
        {tab === "about" && <About detail={detail} onPick={onPick} />}
      </div>
      <Moves task={task} onAsk={onAsk} />
    </>
  );
}

/** One sentence: why it is where it is. */
function Why({ task }: { task: Task }): ReactNode {
  const { t, f } = useWords();
  const now = useNow(1000);
  const p = t.plan;
  const text = task.completedByRecovery ? p.byRecoveryAbout
    : task.nextAttemptAt !== null && Date.parse(task.nextAttemptAt) > now ? p.retryIn(f.duration(Date.parse(task.nextAttemptAt) - now), task.retryCount + 1, task.maxRetries + 1)
    : columnOf(task) === "review" ? p.verdictDoubt(f.number(task.confidence ?? 0))
    : task.status === "failed" ? (task.lastError ?? "")
    : task.status === "pending" && task.reason ? reasonOf(task, t) : "";
  return text ? <span className={task.status === "failed" ? "task-why mono ink-failed" : "task-why dim"}>{text}</span> : null;
}

/** What the task's status allows and I may do. */
function Moves({ task, onAsk }: { task: Task; onAsk: Ask }): ReactNode {
  const { t } = useWords();
  const { me } = useSession();
  const moves = movesOf(task, me);
  if (moves.length === 0) return null;
  return (
    <footer className="task-moves" role="group" aria-label={t.plan.moves(task.id)}>
      {ORDER.filter((verb) => moves.includes(verb)).map((verb) => <Button key={verb} look={DANGER.has(verb) ? "danger" : PRIMARY.has(verb) ? "primary" : "plain"} onClick={(event) => onAsk(task, verb, event.currentTarget)}>{t.plan.move[verb]}</Button>)}
    </footer>
  );
}

/** The arrow keys select the previous or next tab. */
function moveBetweenTabs(event: KeyboardEvent<HTMLDivElement>): void {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const tabs = [...event.currentTarget.querySelectorAll<HTMLElement>("[role=tab]")];
  const at = tabs.indexOf(document.activeElement as HTMLElement);
  const next = by === undefined || at < 0 ? undefined : tabs[(at + by + tabs.length) % tabs.length];
  if (!next) return;
  event.preventDefault();
  next.focus();
  next.click();
}
