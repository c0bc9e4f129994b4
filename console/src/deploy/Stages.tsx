/** The stages of a rollout, with clock time, counted instances and the numbers that each one passed with. */
import { Check, Pause, Play, Undo2, X } from "lucide-react";
import type { ReactNode } from "react";
import { Badge, Card } from "../components";
import { useNow } from "../words";
import { Rich } from "../words/rich";
import { msText, percentText, shareText } from "./numbers";
import { isOpen, lineRange, limitsOf, METRICS, stageNow } from "./rollout";
import { useDeployWords } from "./speech";
import type { Deployment, DeploymentStage } from "./types";

export function Stages({ deployment }: { deployment: Deployment }): ReactNode {
  const { t, f } = useDeployWords();
  const d = t.deployments;
  const { stages } = deployment;
  if (stages.length === 0) return null;
  const at = stageNow(stages);
  return (
    <Card className="stages" label={d.stages}>
      <ol style={{ gridTemplateColumns: `repeat(${stages.length}, minmax(${stages.length > 4 ? 168 : 0}px, 1fr))` }} tabIndex={0} aria-label={d.stages}>
        {stages.map((stage, i) => {
          const look = lookOf(stage, deployment);
          const name = stage.lines?.length ? lineRange(stage.lines) : percentText(stage.percent, f);
          return (
            <li key={i} className={`stage stage-${look}`}>
              <p className="stage-head">
                <span className="stage-mark" aria-hidden>{look === "done" ? <Check size={15} strokeWidth={2.4} /> : look === "now" ? <Play size={13} strokeWidth={2.4} /> : look === "paused" ? <Pause size={13} strokeWidth={2.4} /> : look === "taken" ? <Undo2 size={14} strokeWidth={2.4} /> : look === "broken" ? <X size={14} strokeWidth={2.4} /> : i + 1}</span>
                <b>{name}</b>
                <span className="sr">{d.stageSays(i + 1, stages.length, name, d.stageWord[stage.status] ?? stage.status)}</span>
                {look === "now" && <span className="badge tone-moving stage-now">{d.now}</span>}
                {look === "paused" && <Badge tone="held" icon={Pause}>{d.stopped}</Badge>}
                {look === "broken" && <Badge tone="failed">{d.broken}</Badge>}
                {look === "taken" && <Badge tone="undone">{d.taken}</Badge>}
                <Track stage={stage} deployment={deployment} look={look} />
              </p>
              <Said stage={stage} deployment={deployment} look={look} next={i === at + 1} last={i === stages.length - 1} />
            </li>
          );
        })}
      </ol>
    </Card>
  );
}

const MINUTE = 60_000;
/** Up to here a stage is told in minutes. */
const HOURS = 120 * MINUTE;

type Look = "done" | "now" | "paused" | "taken" | "broken" | "next";

function lookOf(stage: DeploymentStage, { status }: Deployment): Look {
  if (stage.status === "done") return "done";
  if (stage.status === "next" || !stage.begins_at) return "next";
  if (status === "paused") return "paused";
  return status === "failed" ? "broken" : status === "rolled_back" ? "taken" : "now";
}

/** How much of a stage has passed, by time; the clock of a paused one stands still. */
function passed(stage: DeploymentStage, deployment: Deployment, now: number): { done: number; all: number } | null {
  if (!stage.begins_at) return null;
  const begin = Date.parse(stage.begins_at);
  const until = deployment.paused_at ? Date.parse(deployment.paused_at) : deployment.ended_at ? Date.parse(deployment.ended_at) : now;
  if (!stage.ends_at) return null;
  const all = Date.parse(stage.ends_at) - begin;
  return all > 0 ? { done: Math.min(all, Math.max(0, until - begin)), all } : null;
}

function Track({ stage, deployment, look }: { stage: DeploymentStage; deployment: Deployment; look: Look }): ReactNode {
  const now = useNow(1000);
  const part = passed(stage, deployment, now);
  const share = look === "done" ? 1 : look === "next" ? 0 : part ? part.done / part.all : deployment.status === "succeeded" ? 1 : 0;
  return <span className="deploy-track" aria-hidden><i style={{ width: `${100 * share}%` }} /></span>;
}

function Said({ stage, deployment, look, next, last }: { stage: DeploymentStage; deployment: Deployment; look: Look; next: boolean; last: boolean }): ReactNode {
  const { t, f } = useDeployWords();
  const d = t.deployments;
  const now = useNow(10_000);
  const begin = stage.begins_at ? f.when(stage.begins_at, now) : null;
  const count = stage.total > 0 ? d.counted(f.number(stage.counted), f.number(stage.total)) : null;
  const { metrics } = stage;
  const lines = look === "next" ? ahead() : [
    [look === "done" && begin && stage.ends_at ? d.stagePassed(begin, f.clock(stage.ends_at)) : begin && look === "now" ? d.sinceNow(begin, f.duration(Math.max(0, now - Date.parse(stage.begins_at ?? "")), 1)) : begin, count].filter(Boolean).join(" · "),
    behind(),
  ];
  return <p className="stage-said">{lines.filter(Boolean).map((line, i) => <span key={i}><Rich text={line ?? ""} /></span>)}</p>;

  function behind(): string | null {
    if (look === "done") {
      if (deployment.events.some((event) => event.what === "promote" && event.at === stage.ends_at)) return d.passedByHand;
      if (metrics?.error_rate === null || metrics?.error_rate === undefined) return isOpen(deployment.status) || deployment.status === "succeeded" ? d.passedTime : null;
      return d.passedWith(shareText(metrics.error_rate), msText(metrics.latency_p99_ms, f));
    }
    if (look === "paused") return d.stoppedClock;
    if (look === "taken" || look === "broken") return metrics?.error_rate === null || metrics?.error_rate === undefined ? null : d.endedWith(shareText(metrics.error_rate), msText(metrics.latency_p99_ms, f));
    const part = passed(stage, deployment, now);
    return part ? d.passedOf(part.all <= HOURS ? t.duration.min(f.number(Math.round(part.all / MINUTE))) : f.duration(part.all, 2), f.duration(part.done, 1)) : last && deployment.previous_version ? d.keepsOld(deployment.previous_version) : null;
  }

  function ahead(): (string | null)[] {
    if (!isOpen(deployment.status)) return [d.neverCame];
    const old = last && deployment.previous_version ? d.keepsOld(deployment.previous_version) : null;
    if (deployment.status === "paused") return [d.waitsForResume, old];
    const left = stage.begins_at ? Date.parse(stage.begins_at) - now : null;
    const checked = METRICS.some((metric) => limitsOf(deployment, metric).promote !== null);
    const rises = left === null || !begin ? null : left <= 0 ? d.risesSoon : next ? d.risesIn(f.duration(Math.ceil(left / MINUTE) * MINUTE, left < HOURS ? 1 : 2), begin) : last ? d.endsAt(f.when(stage.ends_at ?? stage.begins_at ?? "", now)) : d.risesAt(begin);
    return [rises ?? (last ? d.isLast : null), old ?? (next ? (checked ? d.risesIf : d.risesByTime) : null)];
  }
}
