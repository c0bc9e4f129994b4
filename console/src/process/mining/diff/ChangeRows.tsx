/** The changes, a row each: what it is, who went there, and what it saves. One is chosen here or in the drawing. */
import { CircleAlert, ShieldCheck } from "lucide-react";
import type { ReactNode } from "react";
import { Badge } from "../../../components";
import { changeText, useMiningWords } from "../speech";
import type { ModelDiff } from "../types";
import { KIND_ICON, KIND_TONE } from "./DiffDrawing";

export function ChangeRows({ diff, chosen, onChoose }: { diff: ModelDiff; chosen: number | null; onChoose: (change: number | null) => void }): ReactNode {
  const { m, f } = useMiningWords();
  const d = m.diff;
  return (
    <section className="mine-changes" aria-label={d.changes(diff.changes.length)}>
      <header><h2>{d.changes(diff.changes.length)}</h2><Badge tone={diff.sound ? "done" : "failed"} icon={diff.sound ? ShieldCheck : CircleAlert}>{diff.sound ? d.sound : d.unsound}</Badge><span className="grow" /><span className="dim mine-seen">{d.seenIn}</span><span className="dim mine-saves">{d.saves}</span></header>
      {diff.changes.length === 0 && <p className="dim mine-none">{d.noChanges}</p>}
      <ul>
        {diff.changes.map((change, number) => {
          const Icon = KIND_ICON[change.kind];
          const { title, detail } = changeText(change, m);
          return (
            <li key={number}>
              <button type="button" data-change={number} aria-pressed={number === chosen} onClick={() => onChoose(number === chosen ? null : number)}>
                <i className={`mine-badge ${KIND_TONE[change.kind]}`} aria-hidden><Icon size={12} strokeWidth={2.8} /></i>
                <b>{title}</b>
                <span className="mine-detail dim"><span className="sr">{d.kinds[change.kind]}. </span>{detail}</span>
                <span className="mine-seen mine-runs"><span className="sr">{d.seenIn} </span>{d.runs(f.number(change.cases))}</span>
                <span className="mine-saves"><span className="sr">{d.saves} </span>{change.saved_ms_per_week === null ? "–" : f.duration(change.saved_ms_per_week)}</span>
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
