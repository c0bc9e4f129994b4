/** One simulation report on a page of its own, with every metric that was compared. */
import "./deploy.css";
import type { ReactNode } from "react";
import { useGet } from "../api/cache";
import { Ago, Card, Failed, Skeleton } from "../components";
import { useFrame } from "../shell/chrome";
import { Link } from "../shell/router";
import { msText, NOTHING, shareText } from "./numbers";
import { isNumeric, verdictSentence } from "./report";
import { DEPLOYMENTS_PAGE, simulationPath } from "./requests";
import { Report } from "./SimulationPanel";
import { useDeployWords } from "./speech";
import type { Compared, Simulation } from "./types";

export default function SimulationPage({ id }: { id: string }): ReactNode {
  const { t } = useDeployWords();
  const s = t.deployments.simulation;
  useFrame([{ text: t.nav.manage, to: "/ops" }, { text: t.deployments.title, to: DEPLOYMENTS_PAGE }, { text: s.title }, { text: id, mono: true }]);
  const { data, error, reload } = useGet<Simulation>(simulationPath(id));
  if (!data) return error ? <Failed page error={error} retry={reload} /> : <div className="pad"><Skeleton h={56} w="60%" /><Skeleton h={420} /></div>;
  return (
    <div className="simulation">
      <header>
        <h1>{verdictSentence(data, t)}</h1>
        <p className="deploy-about"><b className="mono">{data.artifact.id}</b><b>{data.baseline_version ? `${data.baseline_version} → ` : ""}{data.candidate_version ?? NOTHING}</b><span>{s.mode[data.mode] ?? data.mode}</span><span><Ago time={data.created_at} /></span>{data.run_id && <span>{t.deployments.run} <Link to={`/runs/${encodeURIComponent(data.run_id)}${data.node ? `?node=${encodeURIComponent(data.node)}` : ""}`} className="mono">{data.run_id.slice(-8)}</Link></span>}</p>
      </header>
      <Report simulation={data} />
      <AllMetrics compared={data.result.detailed_comparison} />
    </div>
  );
}

const SHARES = new Set(["accuracy", "precision", "recall", "f1_score", "false_positive_rate", "false_negative_rate"]);

function AllMetrics({ compared }: { compared: Compared[] }): ReactNode {
  const { t, f } = useDeployWords();
  const s = t.deployments.simulation;
  const rows = compared.filter(isNumeric);
  const split = compared.find((each) => !isNumeric(each) && each.baseline !== null && each.simulated !== null);
  const text = (metric: string, value: unknown) => (typeof value !== "number" ? NOTHING : SHARES.has(metric) ? shareText(value) : metric === "processing_time" ? msText(value, f) : f.number(value));
  if (rows.length === 0 && !split) return null;
  return (
    <Card className="report-all" label={s.all}>
      <div className="card-head"><h2>{s.all}</h2></div>
      <table>
        <thead><tr><th>{t.deployments.columns.metric}</th><th className="num">{s.before}</th><th className="num">{s.after}</th><th className="num">{s.difference}</th></tr></thead>
        <tbody>
          {rows.map(({ metric, baseline, simulated }) => <tr key={metric}><td>{s.compared[metric] ?? metric}</td><td className="num">{text(metric, baseline)}</td><td className="num"><b>{text(metric, simulated)}</b></td><td className="num dim">{typeof baseline === "number" && typeof simulated === "number" ? signed(SHARES.has(metric) ? text(metric, Math.abs(simulated - baseline)).replace("%", s.points) : text(metric, Math.abs(simulated - baseline)), simulated - baseline) : NOTHING}</td></tr>)}
          {split && Object.keys({ ...(split.baseline as object), ...(split.simulated as object) }).map((name) => { const [a, b] = [countOf(split.baseline, name), countOf(split.simulated, name)]; return <tr key={name}><td>{s.distribution}: {name}</td><td className="num">{f.number(a)}</td><td className="num"><b>{f.number(b)}</b></td><td className="num dim">{signed(f.number(Math.abs(b - a)), b - a)}</td></tr>; })}
        </tbody>
      </table>
    </Card>
  );
}

const signed = (text: string, difference: number): string => (difference === 0 || /^0(\.0)?( |$)/.test(text) ? "±0" : `${difference > 0 ? "+" : "−"}${text}`);
const countOf = (counts: Compared["baseline"], name: string): number => (typeof counts === "object" && counts !== null ? (counts[name] ?? 0) : 0);
