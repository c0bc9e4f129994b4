/** Per metric: the version before, the new one, both limits, the flow and a verdict; then how the samples were split. */
import { Check, CircleDashed, Hourglass, TriangleAlert, X, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { Badge, Card, Segment } from "../components";
import { useParam } from "../shell/router";
import { useNow } from "../words";
import { artifactWord } from "./headline";
import { MetricChart } from "./MetricChart";
import { metricText, msText, NOTHING, percentText } from "./numbers";
import { isEven, isOpen, limitsOf, METRICS, pairOf, stageNow, verdictOf, VERDICT_TONE, type Verdict } from "./rollout";
import { useDeployWords } from "./speech";
import type { Deployment, MetricName, VersionMetrics } from "./types";

const VERDICT_ICON: Record<Verdict, LucideIcon> = { within: Check, over: TriangleAlert, back: X, few: Hourglass, unlimited: CircleDashed };

export function Metrics({ deployment, at }: { deployment: Deployment; at: number }): ReactNode {
  const { t, f } = useDeployWords();
  const d = t.deployments;
  const now = useNow(1000);
  const [wanted, setWanted] = useParam("since");
  const whole = wanted === "start";
  const { before, after } = pairOf(whole ? deployment.versions_since_start : deployment.versions);
  const old = before?.version ?? deployment.previous_version;
  const [from, to] = periodOf(deployment, whole, now);
  return (
    <Card className="metrics" label={d.metrics}>
      <div className="card-head">
        <h2>{d.metrics}</h2>
        {old && <span className="metrics-key dim"><i className="key-before" aria-hidden />{old}</span>}
        <b className="metrics-key"><i className="key-after" aria-hidden />{deployment.version}</b>
        <span className="end dim">{f.ago(new Date(at).toISOString(), now)}</span>
        <Segment label={d.window} value={whole ? "start" : "stage"} onChange={(value) => setWanted(value === "start" ? "start" : null)} options={[{ id: "stage", text: d.thisStage }, { id: "start", text: d.sinceStart }]} />
      </div>
      <table className="metrics-table">
        <thead><tr><th>{d.columns.metric}</th><th>{old ?? NOTHING}</th><th>{deployment.version} {d.isNew(artifactWord(deployment.artifact.type, t))}</th><th>{d.columns.limits}</th><th className="metrics-flow">{d.columns.flow}</th><th className="metrics-verdict">{d.columns.verdict}</th></tr></thead>
        <tbody>
          {METRICS.map((metric) => {
            const limits = limitsOf(deployment, metric);
            const verdict = verdictOf(after?.[metric] ?? null, limits);
            return (
              <tr key={metric} data-metric={metric}>
                <th scope="row"><b>{d.metric[metric]}</b><span>{d.about[metric]}</span></th>
                <td data-label={old ?? NOTHING}><b className="metrics-old">{metricText(metric, before?.[metric], f)}</b><span>{note(metric, before, false)}</span></td>
                <td data-label={deployment.version}><b>{metricText(metric, after?.[metric], f)}</b><span>{note(metric, after, true)}</span></td>
                <td className="metrics-limits">
                  {limits.promote === null ? <span className="dim">{d.noPromote}</span> : <span><b className="ink-held">{d.promoteAt}</b> ≤ {metricText(metric, limits.promote, f)}</span>}
                  {limits.rollBack === null ? <span className="dim">{d.noRollBack}</span> : <span><b className="ink-failed">{d.rollBackAt}</b> &gt; {metricText(metric, limits.rollBack, f)}</span>}
                </td>
                <td className="metrics-flow"><MetricChart deployment={deployment} metric={metric} limits={limits} from={from} to={to} now={now} /></td>
                <td className="metrics-verdict"><Badge tone={VERDICT_TONE[verdict]} icon={VERDICT_ICON[verdict]}>{verdict === "few" && after && after.samples > 0 ? d.tooFew : d.verdict[verdict]}</Badge></td>
              </tr>
            );
          })}
          <Samples deployment={deployment} before={before} after={after} whole={whole} />
        </tbody>
      </table>
    </Card>
  );

  /** The second line below a number. */
  function note(metric: MetricName, of: VersionMetrics | null, isNew: boolean): string {
    if (!of || of.samples === 0) return d.noSamples;
    if (metric === "error_rate") return d.ofSamples(f.number(of.errors), f.number(of.samples));
    if (metric === "latency_p99_ms") return of.latency_p50_ms === null ? "" : d.median(msText(of.latency_p50_ms, f).replace(" ms", ""));
    const scores = deployment.series.filter((point) => (point.version === deployment.version) === isNew && point.anomaly_score !== null).map((point) => point.anomaly_score as number).sort((a, b) => a - b);
    if (scores.length === 0) return "";
    return isNew ? d.most((scores.at(-1) ?? 0).toFixed(2)) : d.usual((scores[Math.floor(scores.length / 2)] ?? 0).toFixed(2));
  }
}

/** What a chart shows: the stage before and this one up to its end, or all since the start. */
function periodOf(deployment: Deployment, whole: boolean, now: number): [number, number] {
  const { stages } = deployment;
  const at = stageNow(stages);
  const time = (text: string | null | undefined) => (text ? Date.parse(text) : null);
  const start = Date.parse(deployment.started_at);
  const from = whole ? start : (time(stages[Math.max(0, at - 1)]?.begins_at) ?? start);
  const end = isOpen(deployment.status) ? (time(stages[at]?.ends_at) ?? time(deployment.next_at) ?? now) : (time(deployment.ended_at) ?? now);
  return [from, Math.max(end, from + 60_000, deployment.status === "in_progress" ? now : 0)];
}

function Samples({ deployment, before, after, whole }: { deployment: Deployment; before: VersionMetrics | null; after: VersionMetrics | null; whole: boolean }): ReactNode {
  const { t, f } = useDeployWords();
  const d = t.deployments;
  const [old, fresh] = [before?.samples ?? 0, after?.samples ?? 0];
  const all = old + fresh;
  const share = (n: number) => (all === 0 ? NOTHING : percentText((100 * n) / all, f));
  const byLine = deployment.stages.some((stage) => stage.lines?.length);
  const target = byLine || whole || !isOpen(deployment.status) ? null : deployment.percent;
  const even = target === null || isEven(fresh, all, target);
  return (
    <tr data-metric="samples">
      <th scope="row"><b>{d.samples}</b><span>{whole ? d.samplesAll(f.number(all)) : d.samplesOf(f.number(all))}</span></th>
      <td data-label={before?.version ?? NOTHING}><b className="metrics-old">{f.number(old)}</b><span>{share(old)}</span></td>
      <td data-label={deployment.version}><b>{f.number(fresh)}</b><span>{share(fresh)}</span></td>
      <td className="metrics-limits">{target !== null && <span>{d.target(percentText(target, f))}</span>}<span className={target === null ? "" : "dim"}>{byLine ? d.splitByLine : d.splitBy}</span></td>
      <td className="metrics-flow">{all > 0 && <span className="split"><span className="split-bar" aria-hidden><i style={{ flexGrow: old }} /><i className="split-new" style={{ flexGrow: fresh }} /></span><span>{before?.version ?? NOTHING} {share(old)}</span><span>{deployment.version} {share(fresh)}</span></span>}</td>
      <td className="metrics-verdict">{all === 0 ? <Badge tone="held" icon={Hourglass}>{d.verdict.few}</Badge> : target !== null && <Badge tone={even ? "done" : "held"} icon={even ? Check : TriangleAlert}>{even ? d.even : d.uneven}</Badge>}</td>
    </tr>
  );
}
