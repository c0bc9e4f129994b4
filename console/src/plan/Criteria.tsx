/** The success criteria beside the verdict: which are met, how that is known, and how sure the result is. */
import { CircleCheck, CircleDashed, CircleX } from "lucide-react";
import type { ReactNode } from "react";
import { useWords } from "../words";
import { SURE } from "./taskStanding";
import { Confidence } from "./TaskCard";
import type { Criterion, Execution, TaskDetail } from "./types";

export function Criteria({ detail, trusted, execution }: { detail: TaskDetail; trusted: boolean; execution: Execution | undefined }): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  const { task, criteria } = detail;
  const sure = task.confidence ?? execution?.confidence ?? null;
  const notes = task.reviewNotes;
  return (
    <>
      <section aria-label={p.verdict}>
        <h3>{p.verdict}</h3>
        {sure === null ? <p className="dim">{p.verdictNone}</p> : <><p>{sure >= SURE ? p.verdictSure(f.number(sure)) : p.verdictDoubt(f.number(sure))}</p><Confidence value={sure} /></>}
      </section>
      <section aria-label={p.tab.criteria}>
        <h3>{p.tab.criteria}</h3>
        {criteria.length === 0 ? <p className="dim">{p.noCriteria}</p> : <ul className="criteria">{criteria.map((each, i) => <Row key={i} criterion={each} />)}</ul>}
        {!trusted && criteria.some((each) => each.how === "command") && <p className="dim">{p.untrusted}</p>}
      </section>
      {notes && <section><h3>{p.reviewNotes}</h3><p className="task-text">{notes}</p></section>}
    </>
  );
}

function Row({ criterion: { text, matched, how } }: { criterion: Criterion }): ReactNode {
  const { t } = useWords();
  const p = t.plan;
  const [Icon, tone, word] = matched === null ? ([CircleDashed, "idle", p.criterion.open] as const) : matched ? ([CircleCheck, "done", p.criterion.yes] as const) : ([CircleX, "failed", p.criterion.no] as const);
  return <li className={`tone-${tone}`}><Icon size={16} aria-hidden /><span className="grow plan-written">{text}</span><span className="criterion-said"><b>{word}</b><span className="dim">{p.how[how] ?? how}</span></span></li>;
}
