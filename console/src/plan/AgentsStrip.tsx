/** The agents: who works on what, who is silent, who is free. */
import { Bot } from "lucide-react";
import type { ReactNode } from "react";
import type { Tone } from "../api/types";
import { useNow, useWords } from "../words";
import type { Agent, Task } from "./types";

const SILENT_S = 60;

export function AgentsStrip({ agents, tasks, onPick }: { agents: Agent[]; tasks: Task[]; onPick: (task: string) => void }): ReactNode {
  const { t } = useWords();
  const now = useNow(10_000);
  const titles = new Map(tasks.map((task) => [task.id, task.title]));
  if (agents.length === 0) return null;
  return (
    <ul className="plan-agents" aria-label={t.plan.agents} tabIndex={0}>
      {agents.map((agent) => <AgentCell key={agent.name} agent={agent} title={titles.get(agent.currentTask ?? "")} now={now} onPick={onPick} />)}
    </ul>
  );
}

function AgentCell({ agent, title, now, onPick }: { agent: Agent; title: string | undefined; now: number; onPick: (task: string) => void }): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  const silent = agent.status === "busy" && (agent.silentS ?? 0) > SILENT_S;
  const tone: Tone = silent ? "held" : agent.status === "busy" ? "moving" : "idle";
  const task = agent.currentTask;
  const about = task
    ? [task, silent ? f.duration((agent.silentS ?? 0) * 1000, 1) : agent.progress !== null ? `${f.number(agent.progress)}%` : null].filter(Boolean).join(" · ")
    : agent.done + agent.failed > 0 ? p.doneN(f.number(agent.done), f.number(agent.failed)) : agent.lastUsedAt !== null ? f.ago(agent.lastUsedAt, now) : p.neverUsed;
  const body = (
    <>
      <span className={`plan-agent-icon tone-${tone}`}><Bot size={16} aria-hidden /></span>
      <span className="plan-agent-text"><b className="plan-written">{agent.name}</b> <span className={`plan-agent-state tone-${tone}`}>{p.agentState[silent ? "silent" : agent.status] ?? agent.status}</span><span className="dim cut plan-agent-about">{about}</span></span>
    </>
  );
  return <li>{task ? <button type="button" title={title} onClick={() => onPick(task)}>{body}</button> : <span title={agent.command}>{body}</span>}</li>;
}
