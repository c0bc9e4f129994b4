/** What a check has to say: one line per finding with its place, and whether every run can end, with the way that shows it. */
import { CircleCheck, CircleX, Info, Play, TriangleAlert, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import type { Finding, Inspected, Judged, Problem } from "../api/types";
import { Badge, Button, Skeleton } from "../parts";
import { useWords } from "../words";

export const LOOK: Record<Finding["severity"], { tone: "failed" | "held" | "idle"; icon: LucideIcon }> = {
  error: { tone: "failed", icon: CircleX }, warning: { tone: "held", icon: TriangleAlert }, info: { tone: "idle", icon: Info },
};

interface Props {
  found: Inspected | null;
  problem: Problem | null;
  busy: boolean;
  /** Which way is played, as the number of its level. */
  playing: number | null;
  onPlay: (level: number | null) => void;
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
      {found?.soundness.map((level, i) => <Way key={level.scope} level={level} on={playing === i} onPlay={() => onPlay(playing === i ? null : i)} />)}
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

function Way({ level, on, onPlay }: { level: Judged; on: boolean; onPlay: () => void }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  return (
    <div className={`way tone-${level.verdict === "unsound" ? "failed" : "held"}`}>
      <div className="grow">
        <b>{level.verdict === "unsound" ? d.wayTitle : d.undecided}</b>
        <ol>{level.way.map((one, i) => <li key={i}>{one}</li>)}</ol>
        {level.rehearsed && <p className="dim">{d.rehearsed} {level.rehearsed}</p>}
      </div>
      {level.steps.length > 0 && <Button icon={Play} aria-pressed={on} onClick={onPlay}>{on ? d.stopWay : d.playWay}</Button>}
    </div>
  );
}
