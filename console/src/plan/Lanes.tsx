/** Who did what: a lane per agent, a bar per attempt. */
import { useMemo, type ReactNode } from "react";
import { useGet, useLast } from "../api/cache";
import { Failed, Segment, Skeleton } from "../components";
import { useParam } from "../shell/router";
import { useNow, useWords } from "../words";
import { executionsPath } from "./requests";
import { columnOf, executionTone, ms } from "./taskStanding";
import type { Agent, Execution, Items, Task } from "./types";

const SPANS = { h2: 2, h8: 8, h24: 24 } as const;
type Span = keyof typeof SPANS;
const HOUR = 3_600_000;
/** Attempts that are looked at. */
const MOST = 200;

export function Lanes({ project, agents, tasks, onPick, whole = false }: { project: string; agents: Agent[]; tasks: Task[]; onPick: (task: string) => void; whole?: boolean }): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  const now = useNow(5000);
  const [wanted, setSpan] = useParam("span");
  const span: Span = wanted === "h8" || wanted === "h24" ? wanted : "h2";
  const answer = useGet<Items<Execution>>(executionsPath(project, MOST));
  const all = useLast(answer.data)?.items;
  const { executions, from } = useMemo(() => within(all ?? [], SPANS[span] * HOUR, now), [all, span, now]);
  if (!all) return answer.error && whole ? <Failed error={answer.error} retry={answer.reload} /> : whole ? <div className="pad"><Skeleton h={40} n={5} /></div> : null;
  const names = [...new Set([...agents.map((agent) => agent.name), ...executions.map((execution) => execution.agent)])].filter((name) => whole || executions.some((execution) => execution.agent === name));
  const failed = executions.filter((execution) => execution.status === "failed").length;
  const marks = ticks(from, now);
  const newest = new Map(tasks.map((task) => [task.session, task]));
  return (
    <section className={`lanes ${whole ? "lanes-whole" : ""}`} aria-label={p.lanes}>
      <div className="lanes-head">
        <h2>{p.lanes}</h2>
        <span className="dim">{p.lanesAbout(f.duration(now - from, 1), f.number(executions.length), f.number(failed))}</span>
        <Segment label={p.window} value={span} onChange={(next) => setSpan(next === "h2" ? null : next)} options={(Object.keys(SPANS) as Span[]).map((id) => ({ id, text: p.windows[id] }))} />
      </div>
      {executions.length === 0 ? <p className="dim lanes-none">{p.lanesNone}</p> : (
        <div className="lanes-plot">
          <div className="lane lane-axis" aria-hidden><span /><div>{marks.map((at) => <span key={at} style={{ left: `${place(at, from, now)}%` }}>{now - from < 600_000 ? f.seconds(at) : f.clock(at)}</span>)}</div></div>
          {names.map((name) => (
            <div key={name} className="lane">
              <span className="cut mono">{name}</span>
              <div>{executions.filter((execution) => execution.agent === name).map((execution) => <Bar key={execution.session} execution={execution} task={newest.get(execution.session)} from={from} now={now} onPick={onPick} />)}</div>
            </div>
          ))}
        </div>
      )}
    </section>
  );
}

function Bar({ execution, task, from, now, onPick }: { execution: Execution; task: Task | undefined; from: number; now: number; onPick: (task: string) => void }): ReactNode {
  const { t, f } = useWords();
  const start = Math.max(from, ms(execution.startedAt) ?? now);
  const end = ms(execution.completedAt) ?? now;
  const recovered = task?.completedByRecovery ?? false;
  const tone = task && columnOf(task) === "review" ? "held" : executionTone(execution, recovered);
  const says = t.plan.laneSays(execution.task, execution.agent, recovered ? t.plan.byRecovery : tone === "held" ? (t.plan.status["review"] ?? "") : (t.plan.execution[execution.status] ?? execution.status), f.duration(Math.max(0, end - (ms(execution.startedAt) ?? now))));
  const [left, right] = [place(start, from, now), place(end, from, now)];
  return <button type="button" className={`lane-bar bar-${tone}`} style={{ left: `${left}%`, width: `${Math.max(0.4, right - left)}%` }} aria-label={says} title={says} onClick={() => onPick(execution.task)}><span aria-hidden>{execution.task}</span></button>;
}

const place = (at: number, from: number, to: number): number => (100 * (at - from)) / Math.max(1, to - from);

/** The attempts that touch the last stretch, and where it begins: with the first of them when all are younger. */
function within(all: Execution[], span: number, now: number): { executions: Execution[]; from: number } {
  const executions = all.filter((execution) => execution.startedAt !== null && (ms(execution.completedAt) ?? now) > now - span);
  const first = Math.min(now - 20_000, ...executions.map((execution) => ms(execution.startedAt) ?? now));
  return { executions, from: Math.max(now - span, first) };
}

/** Five moments between two times. */
const ticks = (from: number, to: number): number[] => [0, 1, 2, 3, 4].map((n) => from + ((to - from) * n) / 5);
