/** A task on the board: what it does now, who does it, how sure its result is, and what can be done with it. */
import { ArrowUp, Bot, CalendarClock, Ellipsis, HeartCrack, TriangleAlert } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Badge, Button } from "../components";
import { anchorOf, Dialog, type Anchor } from "../components/Dialog";
import { useSession } from "../shell/session";
import { useWords } from "../words";
import type { Ask } from "./ProjectPage";
import { columnOf, isBlocked, movesOf, reasonOf, silentFor, standing, SURE } from "./taskStanding";
import type { Task } from "./types";

interface Props {
  task: Task;
  now: number;
  /** It is the next to be picked up. */
  next: boolean;
  here: boolean;
  onAsk: Ask;
  onPick: (task: string) => void;
  onDrag: (task: Task | null) => void;
}

export function TaskCard({ task, now, next, here, onAsk, onPick, onDrag }: Props): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  const column = columnOf(task);
  const silent = silentFor(task, now);
  return (
    <article className="task-card" data-task={task.id} data-here={here || undefined} aria-label={`${task.id} ${task.title}`} draggable
      onDragStart={(event) => { event.dataTransfer.setData("text/plain", task.id); event.dataTransfer.effectAllowed = "move"; onDrag(task); }} onDragEnd={() => onDrag(null)}
      onClick={(event) => { if (!(event.target as Element).closest("a, button")) onPick(task.id); }}>
      <p className="task-line">
        <span className="mono dim3 cut">{task.id}</span>
        {task.priority !== null && <span className="tag" title={p.priority(String(task.priority))}><ArrowUp size={12} aria-hidden /><span className="sr">{p.priority("")}</span>{task.priority}</span>}
        {task.schedule && <CalendarClock size={13} aria-label={p.scheduled(task.schedule)} />}
        <span className="grow" />
        {column === "in_progress" && <b className={silent === null ? "task-share" : "task-share ink-held"}>{f.number(task.progress)}%</b>}
        <TaskMenu task={task} onAsk={onAsk} onPick={onPick} />
      </p>
      <h3><button type="button" aria-pressed={here} onClick={() => onPick(task.id)}>{task.title}</button></h3>
      {column === "pending" && <Pending task={task} now={now} next={next} />}
      {column === "in_progress" && <Working task={task} now={now} silent={silent} />}
      {column === "review" && <Review task={task} onAsk={onAsk} />}
      {column === "finished" && <Finished task={task} />}
    </article>
  );
}

/** The moves of a task: what dragging does, without a pointer. */
function TaskMenu({ task, onAsk, onPick }: Pick<Props, "task" | "onAsk" | "onPick">): ReactNode {
  const { t } = useWords();
  const p = t.plan;
  const { me } = useSession();
  const [at, setAt] = useState<{ anchor: Anchor | null; button: Element } | null>(null);
  const moves = movesOf(task, me);
  return (
    <>
      <button type="button" className="task-menu" aria-haspopup="dialog" aria-label={p.moves(task.id)} title={p.moves(task.id)} onClick={(event) => setAt({ anchor: anchorOf(event.currentTarget), button: event.currentTarget })}><Ellipsis size={16} aria-hidden /></button>
      {at && (
        <Dialog label={p.moves(task.id)} anchor={at.anchor} look="popover" onClose={() => setAt(null)}>
          <h2>{task.title}</h2>
          <ul className="menu">
            <li><button type="button" data-first onClick={() => { setAt(null); onPick(task.id); }}>{p.open}</button></li>
            {moves.map((verb) => <li key={verb}><button type="button" onClick={() => { setAt(null); onAsk(task, verb, at.button); }}>{p.move[verb]}</button></li>)}
          </ul>
          {moves.length === 0 && <p className="dim">{p.noMoves}</p>}
        </Dialog>
      )}
    </>
  );
}

function Pending({ task, now, next }: { task: Task; now: number; next: boolean }): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  const { tone, state, word, icon } = standing(task, t);
  const rest = task.nextAttemptAt === null ? 0 : Date.parse(task.nextAttemptAt) - now;
  const about = rest > 0 ? p.retryIn(f.duration(rest), task.retryCount + 1, task.maxRetries + 1) : isBlocked(task) ? task.blockingTasks.join(", ") : next ? p.next : task.reason ? reasonOf(task, t) : task.retryCount > 0 ? p.attemptN(task.retryCount + 1) : "";
  return <p className="task-foot"><Badge tone={tone} state={state} icon={icon}>{word}</Badge>{about && <span className="dim task-about" title={isBlocked(task) ? reasonOf(task, t) : undefined}>{about}</span>}</p>;
}

function Working({ task, now, silent }: { task: Task; now: number; silent: number | null }): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  return (
    <>
      <Progress value={task.progress} tone={silent === null ? "moving" : "held"} label={p.progress(f.number(task.progress))} />
      {task.lastLine && <p className="task-said mono dim cut" title={task.lastLine}>▸ {task.lastLine}</p>}
      <p className="task-foot">
        {silent !== null && <Badge tone="held" icon={TriangleAlert}>{p.silentFor(f.duration(silent, 1))}</Badge>}
        {task.agent && <span className="task-agent"><Bot size={14} aria-hidden /><span className="plan-written">{task.agent}</span></span>}
        <span className="dim">{[task.startedAt === null ? "" : f.duration(Math.max(0, now - Date.parse(task.startedAt)), 1), task.criteriaTotal > 0 ? p.met(task.matched.length, task.criteriaTotal) : "", task.attempt > 1 ? p.attemptN(task.attempt) : ""].filter(Boolean).join(" · ")}</span>
      </p>
    </>
  );
}

function Review({ task, onAsk }: { task: Task; onAsk: Ask }): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  const { me } = useSession();
  const moves = movesOf(task, me);
  return (
    <>
      <p className="task-sure">{p.confidenceOf(f.number(task.confidence ?? 0), task.matched.length, task.criteriaTotal)}</p>
      <Confidence value={task.confidence ?? 0} />
      {moves.includes("review-approve") && <p className="task-decide"><Button look="primary" onClick={(event) => onAsk(task, "review-approve", event.currentTarget)}>{p.move["review-approve"]}</Button>{moves.includes("review-reject") && <Button onClick={(event) => onAsk(task, "review-reject", event.currentTarget)}>{p.move["review-reject"]}</Button>}</p>}
      {task.agent && <p className="task-foot dim"><span className="task-agent"><Bot size={14} aria-hidden /><span className="plan-written">{task.agent}</span></span></p>}
    </>
  );
}

function Finished({ task }: { task: Task }): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  const { tone, state, word } = standing(task, t);
  const took = task.startedAt !== null && task.completedAt !== null ? f.duration(Date.parse(task.completedAt) - Date.parse(task.startedAt), 1) : "";
  const about = task.status === "failed" ? p.attempts(Math.max(task.attempt, task.retryCount + 1)) : [took, task.confidence === null ? "" : p.confidence(f.number(task.confidence))].filter(Boolean).join(" · ");
  return (
    <>
      {task.status === "failed" && task.lastError && <p className="task-error mono cut" title={task.lastError}>{task.lastError}</p>}
      <p className="task-foot">
        <Badge tone={tone} state={state}>{word}</Badge>
        {task.completedByRecovery && <Badge tone="undone" icon={HeartCrack}>{p.byRecovery}</Badge>}
        <span className="dim">{about}</span>
      </p>
    </>
  );
}

export function Progress({ value, tone, label }: { value: number; tone: string; label: string }): ReactNode {
  return <span className={`task-bar tone-${tone}`} role="img" aria-label={label}><i style={{ width: `${Math.min(100, Math.max(0, value))}%` }} /></span>;
}

/** How sure the result is, with the mark from which on it completes by itself. */
export function Confidence({ value }: { value: number }): ReactNode {
  const { t, f } = useWords();
  return <span className={`task-bar task-mark tone-${value >= SURE ? "done" : "held"}`} role="img" aria-label={`${t.plan.confidence(f.number(value))}. ${t.plan.limitMark}`} title={t.plan.limitMark}><i style={{ width: `${Math.min(100, Math.max(0, value))}%` }} /></span>;
}
