/** The log of a run or of one of its nodes; it can be copied as JSON lines. */
import { Copy, Info, OctagonX, Search, TriangleAlert, type LucideIcon } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useGet } from "../api/cache";
import { query } from "../api/client";
import type { Graph, LogLine, LogPage, Run, Tone } from "../api/types";
import { Badge, Button, Failed, Segment, Skeleton } from "../components";
import { toast } from "../components/toast";
import { useWords } from "../words";
import type { Dictionary } from "../words/ko";

const LEVEL: Record<LogLine["level"], { tone: Tone; icon: LucideIcon }> = {
  debug: { tone: "idle", icon: Search }, info: { tone: "moving", icon: Info }, warning: { tone: "held", icon: TriangleAlert }, error: { tone: "failed", icon: OctagonX },
};

export function Logs({ run, graph, node, at }: { run: Run; graph: Graph | undefined; node: string | null; at: number | null }): ReactNode {
  const { t, f } = useWords();
  const [bad, setBad] = useState(false);
  const answer = useGet<LogPage>(`/runs/${encodeURIComponent(run.id)}/logs${query({ limit: 500, node, level: bad ? "warning" : null })}`);
  if (!answer.data) return answer.error ? <Failed error={answer.error} retry={answer.reload} /> : <div className="panel-empty"><Skeleton h={24} n={5} /></div>;
  const lines = answer.data.items.filter((line) => at === null || line.seq <= at);
  const label = (id: string | null) => graph?.nodes.find((node) => node.id === id)?.label ?? id ?? "";
  const copy = async () => {
    await navigator.clipboard?.writeText(lines.map((line) => JSON.stringify(line)).join("\n")).catch(() => undefined);
    toast(t.common.copied);
  };
  return (
    <section>
      <div className="panel-line">
        <Segment label={t.run.logsShow} value={bad ? "bad" : "all"} onChange={(value) => setBad(value === "bad")} options={[{ id: "all", text: t.run.logsAll }, { id: "bad", text: t.run.logsBad }]} />
        {lines.length > 0 && <Button look="icon" aria-label={t.run.copyLogs} title={t.run.copyLogs} onClick={() => void copy()}><Copy size={15} aria-hidden /></Button>}
      </div>
      {lines.length === 0 && <p className="dim">{bad ? t.run.logsNoBad : t.run.noLogs}</p>}
      <ol className="logs">
        {lines.map((line, i) => (
          <li key={`${line.seq} ${i}`}>
            <time className="mono" dateTime={line.at} title={f.title(line.at)}>{f.seconds(line.at)}</time>
            <Badge tone={LEVEL[line.level].tone} icon={LEVEL[line.level].icon}>{t.run.level[line.level]}</Badge>
            <p>
              {textOf(line, label(line.node), t)}
              {(line.attempt ?? 0) > 1 && <span className="dim"> · {t.run.tryN(line.attempt as number)}</span>}
              {line.ms !== null && <span className="dim"> · {f.duration(line.ms)}</span>}
              {line.code && <> <code className="ink-failed">{line.code}</code></>}
              {line.message && <span className="log-message">{line.message}</span>}
            </p>
          </li>
        ))}
      </ol>
    </section>
  );
}

function textOf(line: LogLine, label: string, t: Dictionary): string {
  const say = t.fact[line.event];
  if (say) return say(label, line.event.startsWith("effect.") ? String(line.attempt ?? 1) : "").trim();
  const moved = line.event.replace(/^run\./, "").toUpperCase();
  return t.fact["run.moved"]?.("", t.state[moved] ?? moved) ?? line.event;
}
