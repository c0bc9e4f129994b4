/** A new task: its file is written, and the running plan takes it up. */
import { useEffect, useRef, useState, type FormEvent, type ReactNode } from "react";
import { newKey } from "../api/client";
import { Button } from "../components";
import { Dialog } from "../components/Dialog";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import { addTask } from "./requests";
import type { Agent, Task } from "./types";

interface Typed {
  id: string;
  title: string;
  description: string;
  after: string[];
  agent: string;
  priority: string;
  criteria: string;
}

const EMPTY: Typed = { id: "", title: "", description: "", after: [], agent: "", priority: "", criteria: "" };
/** What was typed and not sent, by project: closing the window loses nothing. */
const typedBefore = new Map<string, Typed>();

export function AddTask({ project, tasks, agents, onClose, onDone }: { project: string; tasks: Task[]; agents: Agent[]; onClose: () => void; onDone: (id: string) => void }): ReactNode {
  const { t } = useWords();
  const a = t.plan.add;
  const [typed, setTyped] = useState<Typed>(() => typedBefore.get(project) ?? EMPTY);
  const [problem, setProblem] = useState<unknown>(null);
  const [sending, setSending] = useState(false);
  const key = useRef(newKey());
  useEffect(() => void typedBefore.set(project, typed), [project, typed]);
  const change = (part: Partial<Typed>) => { setProblem(null); setTyped({ ...typed, ...part }); };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setSending(true);
    try {
      const made = await addTask(project, fieldsOf(typed), key.current);
      typedBefore.delete(project);
      onDone(made.id);
    } catch (error) {
      key.current = newKey();
      setProblem(error);
      setSending(false);
    }
  };
  return (
    <Dialog label={a.title} onClose={onClose}>
      <form className="move-form" onSubmit={(event) => void submit(event)} noValidate>
        <h2>{a.title}</h2>
        <p className="dim">{a.about}</p>
        <div className="add-two">
          <label><span className="label">{a.id}</span><input data-first className="input mono" value={typed.id} maxLength={100} placeholder={a.idHint} onChange={(event) => change({ id: event.target.value.replace(/[^\w-]/g, "") })} /></label>
          <label><span className="label">{a.name}</span><input className="input" value={typed.title} maxLength={200} onChange={(event) => change({ title: event.target.value })} /></label>
        </div>
        <label><span className="label">{a.description}</span><textarea className="input" rows={4} value={typed.description} onChange={(event) => change({ description: event.target.value })} /></label>
        <label><span className="label">{a.criteria}</span><textarea className="input" rows={3} value={typed.criteria} onChange={(event) => change({ criteria: event.target.value })} /></label>
        <div className="add-two">
          <label><span className="label">{a.agent}</span><select className="input" value={typed.agent} onChange={(event) => change({ agent: event.target.value })}><option value="">{t.plan.anyAgent}</option>{agents.map(({ name }) => <option key={name} value={name}>{name}</option>)}</select></label>
          <label><span className="label">{a.priority}</span><input className="input" inputMode="numeric" value={typed.priority} maxLength={6} onChange={(event) => change({ priority: event.target.value.replace(/\D/g, "") })} /></label>
        </div>
        {tasks.length > 0 && <label><span className="label">{a.dependsOn}<span className="dim">{t.common.optional}</span></span><select className="input add-after" multiple size={Math.min(5, tasks.length)} value={typed.after} onChange={(event) => change({ after: [...event.target.selectedOptions].map((option) => option.value) })}>{tasks.map((task) => <option key={task.id} value={task.id}>{task.id} · {task.title}</option>)}</select></label>}
        {problem !== null && <p className="bad" role="alert">{errorText(problem, t)}</p>}
        <div className="dialog-foot"><Button onClick={onClose}>{t.common.cancel}</Button><Button type="submit" look="primary" disabled={sending || !typed.id || !typed.title.trim()}>{a.send}</Button></div>
      </form>
    </Dialog>
  );
}

/** Only what was filled in. */
function fieldsOf({ id, title, description, after, agent, priority, criteria }: Typed): Record<string, unknown> {
  const lines = criteria.split("\n").map((line) => line.trim()).filter(Boolean);
  return {
    id, title: title.trim(), ...(description.trim() ? { description } : {}), ...(after.length ? { dependsOn: after } : {}), ...(agent ? { assignedAgent: agent } : {}), ...(priority ? { priority: Number(priority) } : {}), ...(lines.length ? { successCriteria: lines } : {}),
  };
}
