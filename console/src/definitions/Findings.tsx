/** What a check has to say: one line per finding with its place, and whether every run can end, with the way that shows it. */
import { CircleCheck, CircleX, Info, Play, Square, TriangleAlert, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import type { Finding, Graph, Inspected, Judged, Problem } from "../api/types";
import { Badge, Button, Skeleton } from "../parts";
import { useWords } from "../words";
import { Rich } from "../words/rich";
import type { Played } from "./Picture";

export const LOOK: Record<Finding["severity"], { tone: "failed" | "held" | "idle"; icon: LucideIcon }> = {
  error: { tone: "failed", icon: CircleX }, warning: { tone: "held", icon: TriangleAlert }, info: { tone: "idle", icon: Info },
};

interface Props {
  found: Inspected | null;
  problem: Problem | null;
  busy: boolean;
  playing: Played | null;
  onPlay: (played: Played | null) => void;
  onPick: (finding: Finding) => void;
}

export function Findings({ found, problem, busy, playing, onPlay, onPick }: Props): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  const count = (severity: Finding["severity"]) => found?.findings.filter((one) => one.severity === severity).length ?? 0;
  const [errors, warnings] = [count("error"), count("warning")];
  return (
    <section className="findings" aria-label={d.findings}>
      <header>
        <h2>{d.findings}</h2>
        {errors > 0 && <Badge tone="failed" icon={CircleX}>{d.errors(errors)}</Badge>}
        {warnings > 0 && <Badge tone="held" icon={TriangleAlert}>{d.warnings(warnings)}</Badge>}
        {found && errors + warnings === 0 && <Badge tone="done" icon={CircleCheck}>{d.clean}</Badge>}
        {found?.graph && <Verdict found={found} />}
        {busy && <span className="dim" role="status">{d.checking}</span>}
      </header>
      {problem && <p className="bad pad-small" role="alert">{problem.detail || problem.title} {problem.hint} <code>{problem.code}</code></p>}
      {!found && busy && <div className="pad-small"><Skeleton h={34} n={2} /></div>}
      {found?.soundness.map((level, i) => <Way key={level.scope} level={level} graph={found.graph} at={playing?.level === i ? playing.step : null} onPlay={(step) => onPlay(step === null ? null : { level: i, step, hand: step > 0 })} />)}
      <ul>
        {found?.findings.map((one, i) => {
          const { icon: Icon, tone } = LOOK[one.severity];
          return (
            <li key={i}>
              <button type="button" className={`finding tone-${tone}`} onClick={() => onPick(one)}>
                <Icon size={16} strokeWidth={1.9} aria-hidden />
                <span className="grow"><span className="sr">{d.severity[one.severity]} </span>{one.message} {one.hint && <span className="dim">{one.hint}</span>} <code className="dim">{one.rule}</code></span>
                {one.where.line > 0 && <span className="dim num">{d.line(one.where.line)}</span>}
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Verdict({ found }: { found: Inspected }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  if (found.soundness.some((one) => one.verdict === "unsound")) return <Badge tone="failed" icon={CircleX}>{d.unsound}</Badge>;
  if (found.soundness.length > 0) return <Badge tone="held" icon={TriangleAlert}>{d.undecided}</Badge>;
  return <Badge tone="done" icon={CircleCheck}>{d.sound}</Badge>;
}

/** Each step can be gone to; where it stops is said in the reader's tongue. */
function Way({ level, graph, at, onPlay }: { level: Judged; graph: Graph | null; at: number | null; onPlay: (step: number | null) => void }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  const label = (id: string) => graph?.nodes.find((one) => one.id === id)?.label ?? id;
  const last = level.steps.at(-1)?.tokens ?? {};
  const ends = level.dead.length ? level.dead : [...new Set((graph?.edges ?? []).filter((edge) => last[edge.id]).map((edge) => edge.to))];
  const wrong = ends.length > 0 ? d.wrong[level.why]?.(ends.map(label).join(", ")) : undefined;
  return (
    <div className={`way tone-${level.verdict === "unsound" ? "failed" : "held"}`}>
      <div className="grow">
        <b>{level.verdict === "unsound" ? d.wayTitle : d.undecided}</b>
        {wrong && <p><Rich text={wrong} /></p>}
        {level.steps.length > 0 ? <ol className="way-steps">{level.steps.map((one, i) => <li key={i}><button type="button" aria-current={at === i + 1 ? "step" : undefined} onClick={() => onPlay(i + 1)}>{one.node.startsWith(".") ? d.wayBegins : one.label}</button></li>)}{ends.length > 0 && <li className="way-end"><CircleX size={13} aria-hidden />{ends.map(label).join(", ")}</li>}</ol>
          : <ol>{level.way.map((one, i) => <li key={i}>{one}</li>)}</ol>}
      </div>
      {level.steps.length > 0 && <Button icon={at === null ? Play : Square} onClick={() => onPlay(at === null ? 0 : null)}>{at === null ? d.playWay : d.stopWay}</Button>}
    </div>
  );
}
