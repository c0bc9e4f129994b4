/** What an agent did for a work item, line by line, and the states that the item has gone through. */
import { ChevronDown, Sparkles } from "lucide-react";
import type { ReactNode } from "react";
import type { Json, WorkItem } from "../api/types";
import { useWords } from "../words";
import { person } from "../words/why";

interface Said {
  role: string;
  text: string;
}

export function Transcript({ item }: { item: WorkItem }): ReactNode {
  const { t } = useWords();
  const said = linesOf(item.transcript as Json[]);
  return (
    <details className="fold card transcript">
      <summary><Sparkles size={17} aria-hidden /><b className="grow">{said.length ? t.work.transcriptN(said.length) : t.work.transcript}</b><ChevronDown size={18} aria-hidden /></summary>
      <div>
        {said.length === 0 && <p className="dim">{t.work.agentSilent}</p>}
        {said.map((one, i) => <p key={i} className={`said said-${one.role}`}><b>{t.work.whoSpeaks[one.role] ?? one.role}</b> <span>{one.text}</span></p>)}
      </div>
    </details>
  );
}

function linesOf(told: Json | undefined): Said[] {
  if (!Array.isArray(told)) return [];
  return told.map((one) => {
    if (one === null || typeof one !== "object" || Array.isArray(one)) return { role: "", text: String(one) };
    const content = one["content"] ?? one["text"] ?? one["tool_calls"] ?? one;
    return { role: String(one["role"] ?? ""), text: (typeof content === "string" ? content : JSON.stringify(content)).slice(0, 8000) };
  });
}

export function History({ item }: { item: WorkItem }): ReactNode {
  const { t, f, nodeWord } = useWords();
  return (
    <section>
      <h2>{t.work.history}</h2>
      <ol className="work-history">
        {item.history.map((one) => (
          <li key={one.seq}>
            <time className="mono" dateTime={one.at} title={f.title(one.at)}>{f.clock(one.at)}</time>
            <span>{nodeWord("process", one.to, one.to)}{one.by && <span className="dim"> · {one.by === "agent" ? t.work.byAgent : t.work.by(person(one.by, t))}</span>}{one.comment && <q>{one.comment}</q>}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
