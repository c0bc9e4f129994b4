/** What a task asks for, as its file says it, and how it hangs together with others. */
import type { ReactNode } from "react";
import { Copyable } from "../components";
import { useWords } from "../words";
import type { TaskDetail } from "./types";

export function About({ detail, onPick }: { detail: TaskDetail; onPick: (task: string) => void }): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  const { task } = detail;
  const link = (id: string) => <button key={id} type="button" className="linklike mono" onClick={() => onPick(id)}>{id}</button>;
  const rows: [string, ReactNode][] = [
    [p.dependsOn, task.dependsOn.length ? task.dependsOn.map((each) => <span key={each.id} className="task-dep">{link(each.id)}<span className="dim">{[p.status[each.status] ?? each.status, each.optional ? p.optional : "", each.removed ? p.removedEdge : ""].filter(Boolean).join(" · ")}</span></span>) : null],
    [p.dependents, detail.dependents.length ? detail.dependents.map(link) : null],
    [p.assigned, <span key="agent" className="mono">{task.assignedAgent ?? p.anyAgent}</span>],
    [p.priority("").trim(), task.priority],
    [p.skill, detail.skill && <span className="mono">{detail.skill}</span>],
    [p.references, detail.references.length ? <span className="mono">{detail.references.join(", ")}</span> : null],
    [p.timeLimit, f.duration(detail.timeoutS * 1000)],
    [p.file, task.file && <Copyable text={task.file} />],
  ];
  return (
    <>
      <section><h3>{p.description}</h3><p className="task-text plan-written">{detail.description || "–"}</p></section>
      <section><dl>{rows.filter(([, value]) => value !== null && value !== "").map(([name, value]) => <div key={name} className="kv"><dt>{name}</dt><dd>{value}</dd></div>)}</dl></section>
    </>
  );
}
