/** What an agent did for a work item, line by line, and the states that the item has gone through. */
import { ChevronDown, Sparkles } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useGet } from "../api/cache";
import type { Json, WorkItem } from "../api/types";
import { Failed, Skeleton } from "../parts";
import { useWords } from "../words";
import { person } from "../words/why";
import { workPath } from "./path";

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
      <div><Said said={said} /></div>
    </details>
  );
}

function Said({ said }: { said: Said[] }): ReactNode {
  const { t } = useWords();
  if (said.length === 0) return <p className="dim">{t.work.agentSilent}</p>;
  return said.map((one, i) => <p key={i} className={`said said-${one.role}`}><b>{t.work.whoSpeaks[one.role] ?? one.role}</b> <span>{one.text}</span></p>);
}

/** The same of an item that is closed, also of one that failed: fetched when somebody opens it. */
export function Record({ id, label, open = false }: { id: string; label: string; open?: boolean }): ReactNode {
  const { t } = useWords();
  const [asked, setAsked] = useState(open);
  const { data, error, reload } = useGet<WorkItem>(asked ? workPath(id) : null);
  return (
    <details className="record" open={open} onToggle={(event) => event.currentTarget.open && setAsked(true)}>
      <summary>{label}</summary>
      {!asked ? null : !data ? (error ? <Failed error={error} retry={reload} /> : <Skeleton h={20} n={2} />) : (
        <div>
          {(data.agent || data.transcript.length > 0) && <Said said={linesOf(data.transcript as Json[])} />}
          <h4>{t.work.history}</h4>
          <Passages item={data} />
        </div>
      )}
    </details>
  );
}

function linesOf(told: Json | undefined): Said[] {
  if (!Array.isArray(told)) return [];
  return told.map(lineOf).filter((one) => one.text !== "");
}

function lineOf(one: Json): Said {
  if (one === null || typeof one !== "object" || Array.isArray(one)) return { role: "", text: String(one) };
  const calls = Array.isArray(one["tool_calls"]) ? one["tool_calls"].map(calledOf).join("\n") : "";
  const content = one["content"] || one["text"] || calls || (one["role"] ? "" : one);
  const tool = one["role"] === "tool" && typeof one["name"] === "string" ? `${one["name"]}: ` : "";
  return { role: String(one["role"] ?? ""), text: tool + (typeof content === "string" ? content : JSON.stringify(content)).slice(0, 8000) };
}

/** tool(arguments), the way programs write it. */
function calledOf(call: Json): string {
  const of = call !== null && typeof call === "object" && !Array.isArray(call) ? call["function"] : null;
  return of !== null && typeof of === "object" && of !== undefined && !Array.isArray(of) ? `${String(of["name"])}(${String(of["arguments"] ?? "")})` : JSON.stringify(call);
}

export function History({ item }: { item: WorkItem }): ReactNode {
  const { t } = useWords();
  return <section><h2>{t.work.history}</h2><Passages item={item} /></section>;
}

function Passages({ item }: { item: WorkItem }): ReactNode {
  const { t, f, nodeWord } = useWords();
  return (
    <ol className="work-history">
      {item.history.map((one) => (
        <li key={one.seq}>
          <time className="mono" dateTime={one.at} title={f.title(one.at)}>{f.clock(one.at)}</time>
          <span>{nodeWord("process", one.to, one.to)}{one.by && <span className="dim"> · {one.by === "agent" ? t.work.byAgent : t.work.by(person(one.by, t))}</span>}{one.comment && <q>{one.comment}</q>}</span>
        </li>
      ))}
    </ol>
  );
}
