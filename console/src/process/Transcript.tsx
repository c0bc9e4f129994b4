/** The transcript of an agent that works on an item, and the statuses the item has had. */
import { ChevronDown, Sparkles } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useGet } from "../api/cache";
import { isDict } from "../api/json";
import type { Json, WorkItem } from "../api/types";
import { Failed, Skeleton } from "../components";
import { useWords } from "../words";
import { person } from "../words/why";
import { workItemPath } from "./requests";

interface Message {
  role: string;
  text: string;
}

export function Transcript({ item }: { item: WorkItem }): ReactNode {
  const { t } = useWords();
  const messages = messagesOf(item);
  return (
    <details className="fold card transcript">
      <summary><Sparkles size={17} aria-hidden /><b className="grow">{messages.length ? t.work.transcriptN(messages.length) : t.work.transcript}</b><ChevronDown size={18} aria-hidden /></summary>
      <div><Messages messages={messages} /></div>
    </details>
  );
}

function Messages({ messages }: { messages: Message[] }): ReactNode {
  const { t } = useWords();
  if (messages.length === 0) return <p className="dim">{t.work.agentSilent}</p>;
  return messages.map(({ role, text }, i) => <p key={i} className={`said said-${role}`}><b>{t.work.whoSpeaks[role] ?? role}</b> <span>{text}</span></p>);
}

/** Transcript and history of an item that is closed or failed: fetched when somebody opens it. */
export function WorkItemRecord({ id, label, open = false }: { id: string; label: string; open?: boolean }): ReactNode {
  const { t } = useWords();
  const [wanted, setWanted] = useState(open);
  const { data, error, reload } = useGet<WorkItem>(wanted ? workItemPath(id) : null);
  return (
    <details className="record" open={open} onToggle={(event) => event.currentTarget.open && setWanted(true)}>
      <summary>{label}</summary>
      {!wanted ? null : !data ? (error ? <Failed error={error} retry={reload} /> : <Skeleton h={20} n={2} />) : (
        <div>
          {(data.agent || data.transcript.length > 0) && <Messages messages={messagesOf(data)} />}
          <h4>{t.work.history}</h4>
          <StatusList item={data} />
        </div>
      )}
    </details>
  );
}

const LONGEST = 8000;

const messagesOf = (item: WorkItem): Message[] => (item.transcript as Json[]).map(messageOf).filter(({ text }) => text !== "");

function messageOf(entry: Json): Message {
  if (!isDict(entry)) return { role: "", text: String(entry) };
  const calls = Array.isArray(entry["tool_calls"]) ? entry["tool_calls"].map(toolCallText).join("\n") : "";
  const content = entry["content"] || entry["text"] || calls || (entry["role"] ? "" : entry);
  const tool = entry["role"] === "tool" && typeof entry["name"] === "string" ? `${entry["name"]}: ` : "";
  return { role: String(entry["role"] ?? ""), text: tool + (typeof content === "string" ? content : JSON.stringify(content)).slice(0, LONGEST) };
}

/** tool(arguments), as programs write a call. */
function toolCallText(call: Json): string {
  const called = isDict(call) ? call["function"] : null;
  return isDict(called) ? `${String(called["name"])}(${String(called["arguments"] ?? "")})` : JSON.stringify(call);
}

export function StatusHistory({ item }: { item: WorkItem }): ReactNode {
  const { t } = useWords();
  return <section><h2>{t.work.history}</h2><StatusList item={item} /></section>;
}

function StatusList({ item }: { item: WorkItem }): ReactNode {
  const { t, f, nodeWord } = useWords();
  return (
    <ol className="work-history">
      {item.history.map(({ seq, at, to, by, comment }) => (
        <li key={seq}>
          <time className="mono" dateTime={at} title={f.title(at)}>{f.clock(at)}</time>
          <span>{nodeWord("process", to, to)}{by && <span className="dim"> · {by === "agent" ? t.work.byAgent : t.work.by(person(by, t))}</span>}{comment && <q>{comment}</q>}</span>
        </li>
      ))}
    </ol>
  );
}
