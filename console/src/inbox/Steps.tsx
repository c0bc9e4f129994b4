/** The steps of a run around an item: those that are done, this one, and the end. */
import { Check, Flag, UserCheck } from "lucide-react";
import type { ReactNode } from "react";
import type { Graph } from "../api/types";
import { useWords } from "../words";

const MOST = 4;

export function Steps({ graph, node }: { graph: Graph; node: string }): ReactNode {
  const { t } = useWords();
  const before = graph.nodes.filter(({ id, parent, shape }) => parent === null && id !== node && shape !== "start" && shape !== "end" && graph.states[id]?.tone === "done");
  const cut = before.length - MOST;
  return (
    <ol className="steps" aria-label={t.inbox.step}>
      {cut > 0 && <li className="step-more">+{cut}</li>}
      {before.slice(-MOST).map((step) => {
        const inside = graph.nodes.filter((child) => child.parent === step.id).length;
        return <li key={step.id} className="step tone-done"><Check size={13} strokeWidth={2.400} aria-hidden /><span>{step.label}{inside > 1 ? ` ${inside}` : ""}</span></li>;
      })}
      <li className="step step-me tone-held" aria-current="step"><UserCheck size={14} aria-hidden />{t.inbox.myReview}</li>
      <li className="step step-end"><Flag size={13} aria-hidden />{t.inbox.end}</li>
    </ol>
  );
}
