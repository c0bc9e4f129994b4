/** What an agent says: its words, its tools folded, its errors open. */
import { ChevronRight, Copy, Info, OctagonX, Pin, Wrench } from "lucide-react";
import { memo, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import type { Json } from "../api/types";
import { Badge, Button, Failed, Skeleton } from "../components";
import { toast } from "../components/toast";
import { useWords } from "../words";
import { KEPT, useSessionLog } from "./sessionLog";
import type { Execution, LogLine } from "./types";

/** How near the end counts as being there. */
const NEAR_PX = 24;

export function LiveLog({ project, session, execution }: { project: string; session: string; execution: Execution | undefined }): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  const running = execution === undefined || execution.status === "running" || execution.status === "pending";
  const said = useSessionLog(project, session, running);
  const [follow, setFollow] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [said.lines, said.stderr, follow]);
  const scrolled = () => {
    const at = box.current;
    if (at && follow && at.scrollHeight - at.scrollTop - at.clientHeight > NEAR_PX) setFollow(false);
  };
  const copy = async () => {
    await navigator.clipboard?.writeText(said.lines.map(({ line }) => JSON.stringify(line)).join("\n")).catch(() => undefined);
    toast(t.common.copied);
  };
  if (!said.read) return <div className="panel-empty"><Skeleton h={24} n={5} /></div>;
  if (said.error && said.lines.length === 0) return <Failed error={said.error} />;
  return (
    <div className="live-log">
      <div className="live-head">
        {execution && <span className="dim grow cut">{p.ofAttempt(execution.attempt, execution.agent)}{running && execution.pid !== null && <> · pid <span className="mono">{execution.pid}</span></>}</span>}
        {running && <Badge tone="moving">{p.live}</Badge>}
        <Button icon={Pin} aria-pressed={follow} className={follow ? "live-follow" : ""} title={p.followAbout} onClick={() => setFollow(!follow)}>{p.follow}</Button>
        <Button look="icon" aria-label={p.copyLog} title={p.copyLog} onClick={() => void copy()}><Copy size={15} aria-hidden /></Button>
      </div>
      <div className="live-lines" ref={box} role="log" aria-live="off" aria-label={p.tab.live} tabIndex={0} onScroll={scrolled} onWheel={(event) => event.deltaY < 0 && setFollow(false)}>
        {said.cut && <p className="dim live-note">{p.cutLines(f.number(KEPT))}</p>}
        {said.lines.length === 0 && <p className="dim live-note">{p.noLines}</p>}
        {said.lines.map(({ n, line }) => <Line key={n} line={line} />)}
        {said.stderr && <div className="live-bad"><p><OctagonX size={14} aria-hidden /><b>{p.stderr}</b></p><pre className="code" tabIndex={0}>{said.stderr}</pre></div>}
        <p className="dim3 live-note">{running ? p.waitingMore : said.lines.length > 0 ? p.sessionEnded : ""}</p>
      </div>
    </div>
  );
}

const Line = memo(function Line({ line }: { line: LogLine }): ReactNode {
  const { f } = useWords();
  return (
    <div className="live-line" data-kind={line.kind}>
      {line.at === null ? <span /> : <time className="mono" dateTime={line.at} title={f.title(line.at)}>{f.clock(line.at)}</time>}
      <Spoken line={line} />
    </div>
  );
});

function Spoken({ line }: { line: LogLine }): ReactNode {
  const { t } = useWords();
  const words = t.plan.lineKind;
  const more = written(line.data);
  switch (line.kind) {
    case "tool": return <Fold icon={Wrench} head={[line.text || words["tool"], firstText(line.data)].filter(Boolean).join(" ")} body={more} />;
    case "error": return <div className="live-bad"><p><OctagonX size={14} aria-hidden /><span className="sr">{words["error"]}</span><span>{line.text}</span></p>{more && more !== line.text && <pre className="code" tabIndex={0}>{more}</pre>}</div>;
    case "result": return <div className="live-result"><Badge tone="done">{words["result"]}</Badge>{line.text && <p>{line.text}</p>}</div>;
    case "system": return <p className="dim"><Info size={13} aria-hidden /> {line.text || t.plan.sessionStarted}</p>;
    case "progress": return <p className="dim">{words["progress"]} {line.text || percentOf(line.data)}</p>;
    case "raw": return <code className="live-raw">{line.text}</code>;
    default: return <p className="live-words">{line.text}</p>;
  }
}

function Fold({ icon: Icon, head, body }: { icon: typeof Wrench; head: string; body: string }): ReactNode {
  const [first = "", ...rest] = head.split("\n");
  const inside = [rest.join("\n"), body].filter(Boolean).join("\n");
  if (!inside) return <p className="live-tool"><Icon size={14} aria-hidden /><code className="cut">{first}</code></p>;
  return <details className="live-tool"><summary><ChevronRight className="live-arrow" size={14} aria-hidden /><Icon size={14} aria-hidden /><code className="cut">{first}</code></summary><pre className="code" tabIndex={0}>{inside}</pre></details>;
}

/** What came with a line, as it was written; numbers and texts alone say nothing more. */
function written(data: Json): string {
  if (data === null || typeof data !== "object") return typeof data === "string" ? data : "";
  return Object.keys(data).length ? JSON.stringify(data, null, 2) : "";
}

/** What a tool was called with, in short: the first text in it. */
function firstText(data: Json): string {
  if (typeof data === "string") return firstText(readJson(data)) || data;
  if (data === null || typeof data !== "object") return "";
  const inner = Array.isArray(data) ? data : "input" in data ? [data["input"] ?? null] : Object.values(data);
  return inner.map(firstText).find(Boolean) ?? "";
}

/** What a text that is JSON holds. */
function readJson(text: string): Json {
  if (!text.startsWith("{")) return null;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null; // it was cut
  }
}

function percentOf(data: Json): string {
  const percent = typeof data === "object" && data !== null && !Array.isArray(data) ? (data["percent"] ?? data["progress"]) : data;
  return typeof percent === "number" ? `${percent}%` : "";
}
