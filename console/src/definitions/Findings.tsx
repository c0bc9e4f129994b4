/** The findings of a check with their places, and whether every run can end, with a counterexample. */
import { CircleCheck, CircleX, Info, Play, Square, TriangleAlert, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import type { Finding, Graph, Inspected, Judged, Problem } from "../api/types";
import { Badge, Button, Skeleton } from "../components";
import { useWords } from "../words";
import { Rich } from "../words/rich";
import type { Playback } from "./DrawingPane";

export const LOOK: Record<Finding["severity"], { tone: "failed" | "held" | "idle"; icon: LucideIcon }> = {
  error: { tone: "failed", icon: CircleX }, warning: { tone: "held", icon: TriangleAlert }, info: { tone: "idle", icon: Info },
};

interface Props {
  inspected: Inspected | null;
  problem: Problem | null;
  busy: boolean;
  playback: Playback | null;
  onPlay: (playback: Playback | null) => void;
  onPick: (finding: Finding) => void;
}

export function Findings({ inspected, problem, busy, playback, onPlay, onPick }: Props): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  const count = (severity: Finding["severity"]) => inspected?.findings.filter((finding) => finding.severity === severity).length ?? 0;
  const [errors, warnings] = [count("error"), count("warning")];
  return (
    <section className="findings" aria-label={d.findings}>
      <header>
        <h2>{d.findings}</h2>
        {errors > 0 && <Badge tone="failed" icon={CircleX}>{d.errors(errors)}</Badge>}
        {warnings > 0 && <Badge tone="held" icon={TriangleAlert}>{d.warnings(warnings)}</Badge>}
        {inspected && errors + warnings === 0 && <Badge tone="done" icon={CircleCheck}>{d.clean}</Badge>}
        {inspected?.graph && <Verdict inspected={inspected} />}
        {busy && <span className="dim" role="status">{d.checking}</span>}
      </header>
      {problem && <p className="bad pad-small" role="alert">{problem.detail || problem.title} {problem.hint} <code>{problem.code}</code></p>}
      {!inspected && busy && <div className="pad-small"><Skeleton h={34} n={2} /></div>}
      {inspected?.soundness.map((level, i) => <Counterexample key={level.scope} level={level} graph={inspected.graph} at={playback?.level === i ? playback.step : null} onPlay={(step) => onPlay(step === null ? null : { level: i, step, manual: step > 0 })} />)}
      <ul>
        {inspected?.findings.map((finding, i) => {
          const { icon: Icon, tone } = LOOK[finding.severity];
          return (
            <li key={i}>
              <button type="button" className={`finding tone-${tone}`} onClick={() => onPick(finding)}>
                <Icon size={16} strokeWidth={1.9} aria-hidden />
                <span className="grow"><span className="sr">{d.severity[finding.severity]} </span>{finding.message} {finding.hint && <span className="dim">{finding.hint}</span>} <code className="dim">{finding.rule}</code></span>
                {finding.where.line > 0 && <span className="dim num">{d.line(finding.where.line)}</span>}
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Verdict({ inspected }: { inspected: Inspected }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  if (inspected.soundness.some((level) => level.verdict === "unsound")) return <Badge tone="failed" icon={CircleX}>{d.unsound}</Badge>;
  if (inspected.soundness.length > 0) return <Badge tone="held" icon={TriangleAlert}>{d.undecided}</Badge>;
  return <Badge tone="done" icon={CircleCheck}>{d.sound}</Badge>;
}

/** The steps that lead to where a run never ends; each can be shown in the drawing. */
function Counterexample({ level, graph, at, onPlay }: { level: Judged; graph: Graph | null; at: number | null; onPlay: (step: number | null) => void }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  const label = (id: string) => graph?.nodes.find((node) => node.id === id)?.label ?? id;
  const last = level.steps.at(-1)?.tokens ?? {};
  const ends = level.dead.length ? level.dead : [...new Set((graph?.edges ?? []).filter((edge) => last[edge.id]).map((edge) => edge.to))];
  const wrong = ends.length > 0 ? d.wrong[level.why]?.(ends.map(label).join(", ")) : undefined;
  return (
    <div className={`way tone-${level.verdict === "unsound" ? "failed" : "held"}`}>
      <div className="grow">
        <b>{level.verdict === "unsound" ? d.wayTitle : d.undecided}</b>
        {wrong && <p><Rich text={wrong} /></p>}
        {level.steps.length > 0 ? <ol className="way-steps">{level.steps.map((step, i) => <li key={i}><button type="button" aria-current={at === i + 1 ? "step" : undefined} onClick={() => onPlay(i + 1)}>{step.node.startsWith(".") ? d.wayBegins : step.label}</button></li>)}{ends.length > 0 && <li className="way-end"><CircleX size={13} aria-hidden />{ends.map(label).join(", ")}</li>}</ol>
          : <ol>{level.way.map((text, i) => <li key={i}>{text}</li>)}</ol>}
      </div>
      {level.steps.length > 0 && <Button icon={at === null ? Play : Square} onClick={() => onPlay(at === null ? 0 : null)}>{at === null ? d.playWay : d.stopWay}</Button>}
    </div>
  );
}
