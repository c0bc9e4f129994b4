/** What happens without anybody, and when; and what has happened so far. */
import { Bell, ChevronsUp, CircleCheck, Hand, Pause, Undo2, type LucideIcon } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Card } from "../components";
import { useNow } from "../words";
import { Rich } from "../words/rich";
import { person } from "../words/why";
import { msText, percentText, shareText } from "./numbers";
import { isOpen, limitsOf, lineRange, METRICS, pairOf, stageNow } from "./rollout";
import { useDeployWords } from "./speech";
import type { Deployment, DeploymentEvent } from "./types";

/** So many events are shown before somebody asks for all. */
const SHOWN = 5;

export function AutomaticSteps({ deployment }: { deployment: Deployment }): ReactNode {
  const { t } = useDeployWords();
  const d = t.deployments;
  return (
    <Card className="automatic-steps" label={d.itself}>
      <section><h2>{d.itself}</h2><Automatic deployment={deployment} /></section>
      <History events={deployment.events} />
    </Card>
  );
}

function Automatic({ deployment }: { deployment: Deployment }): ReactNode {
  const { t, f } = useDeployWords();
  const d = t.deployments;
  const now = useNow(30_000);
  const acts: { icon: LucideIcon; ink: string; text: string }[] = [];
  const { stages, notify } = deployment;
  const next = stages[stageNow(stages) + 1];
  const checked = METRICS.some((metric) => limitsOf(deployment, metric).promote !== null);
  if (!isOpen(deployment.status)) acts.push({ icon: CircleCheck, ink: "dim", text: d.nothingItself });
  if (deployment.status === "paused") acts.push({ icon: Pause, ink: "ink-held", text: d.pausedItself });
  if (deployment.status === "in_progress" && deployment.next_at) {
    const at = f.when(deployment.next_at, now);
    const to = next ? (next.lines?.length ? lineRange(next.lines) : percentText(next.percent, f)) : null;
    acts.push({ icon: ChevronsUp, ink: "ink-moving", text: to ? d.willRise(at, to, checked) : d.willEnd(at, checked) });
  }
  if (isOpen(deployment.status)) {
    const limited = deployment.automatic && METRICS.some((metric) => limitsOf(deployment, metric).rollBack !== null);
    acts.push(limited ? { icon: Undo2, ink: "ink-failed", text: d.willGoBack(deployment.to_version ?? deployment.previous_version) } : { icon: Hand, ink: "dim", text: d.wontGoBack });
    const told = ([["on_start", "start"], ["on_rollback", "rollback"], ["on_complete", "complete"]] as const).filter(([flag]) => notify?.[flag]).map(([, word]) => d.tells[word]);
    if (told.length && notify?.channels?.length) acts.push({ icon: Bell, ink: "dim", text: d.willTell(told.join(", "), notify.channels.map((name) => d.channel[name] ?? name).join(", ")) });
  }
  return <ul className="automatic-acts">{acts.map(({ icon: Icon, ink, text }) => <li key={text}><Icon size={15} className={ink} aria-hidden /><span><Rich text={text} /></span></li>)}</ul>;
}

function History({ events }: { events: DeploymentEvent[] }): ReactNode {
  const { t, f } = useDeployWords();
  const d = t.deployments;
  const now = useNow(60_000);
  const [all, setAll] = useState(false);
  const newest = [...events].sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  return (
    <section>
      <h2>{d.history}{events.length > SHOWN && <button type="button" className="link" aria-expanded={all} onClick={() => setAll(!all)}>{all ? d.historyLess : d.historyAll(f.number(events.length))}</button>}</h2>
      {events.length === 0 ? <p className="dim">{t.common.notYet}</p> : (
        <ol className="history">
          {newest.slice(0, all ? undefined : SHOWN).map((event, i) => <li key={i}><time className="mono dim" dateTime={event.at} title={f.title(event.at)}>{f.daysAhead(event.at, now) === 0 ? f.clock(event.at) : f.dayTime(event.at)}</time><span><Rich text={eventText(event)} /></span></li>)}
        </ol>
      )}
    </section>
  );

  function eventText(event: DeploymentEvent): string {
    const who = event.who ? person(event.who, t) : null;
    const word = d.event[event.what]?.(percentText(event.percent ?? 0, f), who) ?? event.text ?? event.what;
    const metrics = pairOf(event.metrics).after;
    const numbers = metrics && metrics.error_rate !== null && metrics.error_rate !== undefined ? d.withNumbers(shareText(metrics.error_rate), msText(metrics.latency_p99_ms, f)) : null;
    const more = ["pause", "roll_back", "fail"].includes(event.what) && event.text !== word ? event.text : null;
    return [word, numbers, more].filter(Boolean).join(" · ");
  }
}
