/** The board: tasks by status. A card goes where a transition leads; elsewhere it returns and says why. */
import { CircleCheck, CircleDashed, CirclePlay, Eye, type LucideIcon } from "lucide-react";
import { useState, type DragEvent, type ReactNode } from "react";
import type { Tone } from "../api/types";
import { Empty } from "../components";
import { toast } from "../components/toast";
import { useSession } from "../shell/session";
import { useNow, useWords } from "../words";
import type { Ask } from "./ProjectPage";
import { TaskCard } from "./TaskCard";
import { columnOf, COLUMNS, dropOn, type Column } from "./taskStanding";
import type { Task } from "./types";

const LOOK: Record<Column, { icon: LucideIcon; tone: Tone }> = {
  pending: { icon: CircleDashed, tone: "idle" }, in_progress: { icon: CirclePlay, tone: "moving" }, review: { icon: Eye, tone: "held" }, finished: { icon: CircleCheck, tone: "done" },
};
/** Cards of a column that are drawn at first. */
const FEW = 40;

interface Props {
  tasks: Task[];
  most: number;
  picked: string | null;
  onAsk: Ask;
  onPick: (task: string) => void;
}

export function Board({ tasks, most, picked, onAsk, onPick }: Props): ReactNode {
  const { t } = useWords();
  const { me } = useSession();
  const now = useNow(1000);
  const [dragged, setDragged] = useState<Task | null>(null);
  const drop = (to: Column, at: Element) => {
    const task = dragged && (tasks.find(({ id }) => id === dragged.id) ?? dragged); // it may have moved meanwhile
    setDragged(null);
    if (!task || columnOf(task) === to) return;
    const found = dropOn(task, to, me, t);
    if ("verb" in found) onAsk(task, found.verb, at);
    else toast(t.plan.dropped(task.id, found.why), { bad: true });
  };
  if (tasks.length === 0) return <Empty title={t.plan.noTasks} text={t.plan.noTasksDo} />;
  const next = firstReady(tasks);
  return (
    <div className="board" role="group" aria-label={t.plan.board}>
      {COLUMNS.map((column) => (
        <BoardColumn key={column} column={column} tasks={inOrder(tasks, column)} most={most} target={dragged !== null && "verb" in dropOn(dragged, column, me, t)} onDrop={(at) => drop(column, at)}>
          {(task) => <TaskCard key={task.id} task={task} now={now} next={task.id === next} here={task.id === picked} onAsk={onAsk} onPick={onPick} onDrag={setDragged} />}
        </BoardColumn>
      ))}
    </div>
  );
}

interface ColumnProps {
  column: Column;
  tasks: Task[];
  most: number;
  /** What is dragged now may be dropped here. */
  target: boolean;
  onDrop: (at: Element) => void;
  children: (task: Task) => ReactNode;
}

function BoardColumn({ column, tasks, most, target, onDrop, children }: ColumnProps): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  const [all, setAll] = useState(false);
  const { icon: Icon, tone } = LOOK[column];
  const title = column === "finished" ? p.finished : (p.status[column] ?? column);
  const shown = all ? tasks : tasks.slice(0, FEW);
  const over = (event: DragEvent) => { event.preventDefault(); event.dataTransfer.dropEffect = "move"; };
  return (
    <section className={`board-column ${target ? "board-target" : ""}`} data-column={column} aria-label={title} onDragOver={over} onDrop={(event) => { event.preventDefault(); onDrop(event.currentTarget); }}>
      <h2 className={`tone-${tone}`}><Icon size={16} aria-hidden />{title} <span>{column === "in_progress" ? p.nOfMost(f.number(tasks.length), f.number(most)) : f.number(tasks.length)}</span></h2>
      {shown.map(children)}
      {tasks.length === 0 && <p className="board-none">{p.columnEmpty[column]}</p>}
      {shown.length < tasks.length && <button type="button" className="board-more" onClick={() => setAll(true)}>{p.nMore(f.number(tasks.length - shown.length))}</button>}
    </section>
  );
}

/** Pending: what can be done first, in the order in which it is picked up. Finished: newest first. */
function inOrder(tasks: Task[], column: Column): Task[] {
  const own = tasks.filter((task) => columnOf(task) === column);
  if (column === "pending") return own.sort((a, b) => Number(b.ready) - Number(a.ready) || byTurn(a, b));
  if (column === "finished") return own.sort((a, b) => Number(b.status === "failed") - Number(a.status === "failed") || (b.completedAt ?? b.updatedAt ?? "").localeCompare(a.completedAt ?? a.updatedAt ?? ""));
  return own.sort((a, b) => (a.startedAt ?? "").localeCompare(b.startedAt ?? ""));
}

/** Those with a priority first, the smallest first; then the oldest. */
const byTurn = (a: Task, b: Task): number => rank(a) - rank(b) || (a.createdAt ?? "").localeCompare(b.createdAt ?? "") || a.id.localeCompare(b.id);
const rank = (task: Task): number => task.priority ?? Number.MAX_SAFE_INTEGER;

const firstReady = (tasks: Task[]): string | undefined => tasks.filter((task) => task.status === "pending" && task.ready).sort(byTurn)[0]?.id;
