/** Tasks that wait for each other, and the three ways out: another dependency, one completed by hand, one cancelled. */
import { Ban, CircleCheckBig, PencilLine, RefreshCcwDot } from "lucide-react";
import { useRef, useState, type ReactNode } from "react";
import { stale } from "../api/cache";
import { newKey } from "../api/client";
import { Button } from "../components";
import { anchorOf, Dialog, type Anchor } from "../components/Dialog";
import { toast } from "../components/toast";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import { Rich } from "../words/rich";
import type { Ask } from "./ProjectPage";
import { changeDependencies, projectPath } from "./requests";
import { movesOf } from "./taskStanding";
import type { Deadlock, Project, Task, TaskVerb } from "./types";

interface Props {
  project: Project;
  tasks: Map<string, Task>;
  deadlocks: Deadlock[];
  onAsk: Ask;
  onSync: () => void;
}

export function Deadlocks({ project, tasks, deadlocks, onAsk, onSync }: Props): ReactNode {
  const { t } = useWords();
  if (deadlocks.length === 0) return null;
  return (
    <section className="cycles" aria-label={t.plan.deadlocks}>
      <h2>{t.plan.deadlocks}</h2>
      {deadlocks.map((deadlock) => <Cycle key={deadlock.cycle.join(" ")} project={project} tasks={tasks} deadlock={deadlock} onAsk={onAsk} onSync={onSync} />)}
    </section>
  );
}

function Cycle({ project, tasks, deadlock, onAsk, onSync }: Omit<Props, "deadlocks"> & { deadlock: Deadlock }): ReactNode {
  const { t } = useWords();
  const p = t.plan;
  const { me } = useSession();
  const [asked, setAsked] = useState<Anchor | null | undefined>(undefined);
  const [task, dependency] = deadlock.removed;
  if (task !== undefined && dependency !== undefined) return <p className="why tone-undone"><RefreshCcwDot size={18} aria-hidden /><span className="grow"><Rich text={p.cycleRemoved(task, dependency)} /></span></p>;
  const members = deadlock.cycle.flatMap((id) => tasks.get(id) ?? []);
  const can = (verb: TaskVerb) => members.filter((each) => movesOf(each, me).includes(verb));
  return (
    <div className="cycle">
      <p><b>{p.cycleSays([...deadlock.cycle, deadlock.cycle[0]].join(" → "))}</b></p>
      <div className="cycle-ways" role="group" aria-label={p.repairs}>
        {may(me, "plan.write") && <Button icon={PencilLine} onClick={(event) => setAsked(anchorOf(event.currentTarget))}>{p.repair.modify}</Button>}
        <OneOf icon={CircleCheckBig} text={p.repair.force} tasks={can("force-complete")} onPick={(each, at) => onAsk(each, "force-complete", at)} />
        <OneOf icon={Ban} text={p.repair.cancel} tasks={can("cancel")} onPick={(each, at) => onAsk(each, "cancel", at)} />
      </div>
      {asked !== undefined && <ModifyDependency project={project} tasks={tasks} deadlock={deadlock} anchor={asked} onClose={() => setAsked(undefined)} onSync={() => { setAsked(undefined); onSync(); }} />}
    </div>
  );
}

/** A button that first asks which of the tasks. */
function OneOf({ icon, text, tasks, onPick }: { icon: typeof Ban; text: string; tasks: Task[]; onPick: (task: Task, at: Element) => void }): ReactNode {
  const { t } = useWords();
  const [at, setAt] = useState<Element | null>(null);
  if (tasks.length === 0) return null;
  return (
    <>
      <Button icon={icon} aria-haspopup="dialog" onClick={(event) => setAt(event.currentTarget)}>{text}</Button>
      {at && (
        <Dialog label={`${text}: ${t.plan.whichTask}`} anchor={anchorOf(at)} look="popover" onClose={() => setAt(null)}>
          <h2>{text}</h2>
          <ul className="menu">{tasks.map((task) => <li key={task.id}><button type="button" onClick={() => { setAt(null); onPick(task, at); }}><span className="mono">{task.id}</span> {task.title}</button></li>)}</ul>
        </Dialog>
      )}
    </>
  );
}

interface ModifyProps {
  project: Project;
  tasks: Map<string, Task>;
  deadlock: Deadlock;
  anchor: Anchor | null;
  onClose: () => void;
  onSync: () => void;
}

/** Removes one dependency of the cycle: the server writes the task's file; it can be written by hand, too. */
function ModifyDependency({ project, tasks, deadlock, anchor, onClose, onSync }: ModifyProps): ReactNode {
  const { t } = useWords();
  const p = t.plan;
  const edges = deadlock.edges.length ? deadlock.edges : deadlock.cycle.map((from, i) => ({ from, to: deadlock.cycle[(i + 1) % deadlock.cycle.length] as string, optional: false }));
  const [chosen, setChosen] = useState(0);
  const [problem, setProblem] = useState<unknown>(null);
  const [sending, setSending] = useState(false);
  const key = useRef(newKey());
  const edge = edges[chosen];
  const task = edge && tasks.get(edge.from);
  const send = async () => {
    if (!edge || !task) return;
    setSending(true);
    try {
      const rest = task.dependsOn.filter((each) => each.id !== edge.to).map(({ id, optional, weight }) => (optional || weight !== 1 ? { id, optional, weight } : id));
      await changeDependencies(project.id, task.id, rest, key.current);
      toast(p.syncDone);
      stale(projectPath(project.id));
      onClose();
    } catch (error) {
      key.current = newKey();
      setProblem(error);
      setSending(false);
    }
  };
  return (
    <Dialog label={p.modifyTitle} anchor={anchor} look="popover" onClose={onClose}>
      <h2>{p.modifyTitle}</h2>
      <p>{p.modifyAsk}</p>
      <fieldset className="cycle-edges">
        <legend className="sr">{p.modifyAsk}</legend>
        {edges.map((each, i) => <label key={`${each.from} ${each.to}`}><input type="radio" name="edge" checked={i === chosen} onChange={() => setChosen(i)} /><span className="mono">{p.edge(each.from, each.to)}</span>{each.optional && <span className="dim">{p.optional}</span>}</label>)}
      </fieldset>
      <p className="dim">{p.modifyDo(task?.file || `tasks/${edge?.from ?? ""}.md`)} <button type="button" className="linklike" onClick={onSync}>{p.sync}</button></p>
      {problem !== null && <p className="bad" role="alert">{errorText(problem, t)}</p>}
      <div className="dialog-foot">
        <Button data-first onClick={onClose}>{p.keep}</Button>
        <Button look="primary" disabled={sending || !task} onClick={() => void send()}>{p.modifySend}</Button>
      </div>
    </Dialog>
  );
}
