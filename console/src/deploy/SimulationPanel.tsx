/** A simulation report: what changes, whether that is chance, what becomes what, and how it compares with people. */
import { FileText, FlaskConical, Search, ThumbsDown, ThumbsUp, TriangleAlert, type LucideIcon } from "lucide-react";
import { useState, type CSSProperties, type ReactNode } from "react";
import { useGet } from "../api/cache";
import type { Tone } from "../api/types";
import { Badge, Button, Card, Failed, Skeleton } from "../components";
import { Dialog } from "../components/Dialog";
import { Link } from "../shell/router";
import { Rich } from "../words/rich";
import { NOTHING, pText, shareText } from "./numbers";
import { comparedOf, verdictSentence } from "./report";
import { judgmentsPath, reportAddress, reportPage, simulationPath } from "./requests";
import { useDeployWords } from "./speech";
import type { Items, Recommendation, SimulatedJudgment, Simulation, SimulationResult } from "./types";

const RECOMMENDED: Record<Recommendation, { tone: Tone; icon: LucideIcon }> = {
  deploy: { tone: "done", icon: ThumbsUp }, review: { tone: "held", icon: Search }, reject: { tone: "failed", icon: ThumbsDown }, insufficient_data: { tone: "idle", icon: TriangleAlert },
};
/** Judgments of a cell that are shown. */
const MOST = 50;

/** The part beside a rollout: it may fail without the page failing. */
export function SimulationPanel({ id }: { id: string }): ReactNode {
  const { t } = useDeployWords();
  const { data, error, reload } = useGet<Simulation>(simulationPath(id));
  if (!data) return <Card className="report" label={t.deployments.simulation.title}>{error ? <Failed error={error} retry={reload} /> : <div className="pad-small"><Skeleton h={60} n={5} /></div>}</Card>;
  return <Report simulation={data} beside />;
}

type Opened = { before: string; after: string } | "misses";

export function Report({ simulation, beside = false }: { simulation: Simulation; beside?: boolean }): ReactNode {
  const { t, f } = useDeployWords();
  const s = t.deployments.simulation;
  const { result } = simulation;
  const [opened, setOpened] = useState<Opened | null>(null);
  const about = RECOMMENDED[result.recommendation] ?? RECOMMENDED.insufficient_data;
  const misses = result.risk_assessment.new_false_negatives;
  return (
    <Card className="report" label={s.title}>
      <div className="card-head"><FlaskConical size={16} className="dim" aria-hidden /><h2>{beside ? <Link to={reportPage(simulation.simulation_id)}>{s.title}</Link> : s.title}</h2><span className="end"><Badge tone={about.tone} icon={about.icon}>{s.recommendation[result.recommendation] ?? result.recommendation}</Badge></span></div>
      <div className="report-said"><p className="dim">{scope()}</p>{beside && <p><b>{verdictSentence(simulation, t)}</b></p>}</div>
      {result.summary.total_samples > 0 && (
        <>
          <Numbers result={result} />
          <section><h3>{s.matrix}<span className="dim">{s.matrixAxes(simulation.baseline_version ?? NOTHING, simulation.candidate_version ?? NOTHING)}</span></h3><Matrix result={result} onOpen={setOpened} /></section>
          <Labels simulation={simulation} />
        </>
      )}
      <footer>
        {misses > 0 ? <span><TriangleAlert size={15} className="ink-held" aria-hidden /><Rich text={s.newMisses(f.number(misses))} /> <button type="button" className="link" onClick={() => setOpened("misses")}>{s.see}</button></span> : <span className="dim">{result.labelled > 0 ? s.noNewMisses : ""}</span>}
        {simulation.reports.length > 0 && <span className="report-files"><FileText size={15} aria-hidden />{simulation.reports.map((format) => <a key={format} href={reportAddress(simulation.simulation_id, format)} target="_blank" rel="noreferrer">{format.toUpperCase()}</a>)}</span>}
      </footer>
      {opened && <Judgments id={simulation.simulation_id} opened={opened} onClose={() => setOpened(null)} />}
    </Card>
  );

  function scope(): string {
    const { since, until } = simulation;
    const days = since && until ? Math.round((Date.parse(until) - Date.parse(since)) / 86_400_000) : 0;
    return [
      simulation.mode === "replay" && days > 0 ? s.lastDays(t.duration.d(f.number(days))) : (s.mode[simulation.mode] ?? simulation.mode),
      since && until ? f.days(since, until) : null,
      s.judgments(f.number(result.summary.total_samples)),
      simulation.baseline_version ? s.against(simulation.baseline_version) : null,
    ].filter(Boolean).join(" · ");
  }
}

function Numbers({ result }: { result: SimulationResult }): ReactNode {
  const { t, f } = useDeployWords();
  const s = t.deployments.simulation;
  const { test } = result;
  const changed = result.risk_assessment.changed_decisions;
  const size = test?.effect_size ?? null;
  return (
    <dl className="report-three">
      <div><dt>{s.changed}</dt><dd><b>{((100 * changed) / Math.max(1, result.summary.total_samples)).toFixed(1)}</b> %</dd><dd className="dim">{s.changedN(f.number(changed))}</dd></div>
      <div><dt>{s.pValue}</dt><dd><b>{test && test.p_value !== null ? pText(test.p_value) : NOTHING}</b></dd><dd className="dim">{test && test.statistic !== null ? `${s.test[test.name] ?? test.name} ${f.number(test.statistic)} · ${test.significant ? s.significant : s.notSignificant}` : s.noTest}</dd></div>
      <div><dt>{s.effect}</dt><dd><b>{size ? size.value.toFixed(2) : NOTHING}</b></dd><dd className="dim">{size ? `${s.effectName[size.name] ?? size.name} · ${s.magnitude[size.magnitude] ?? size.magnitude}` : s.noTest}</dd></div>
    </dl>
  );
}

function Matrix({ result, onOpen }: { result: SimulationResult; onOpen: (cell: Opened) => void }): ReactNode {
  const { t, f } = useDeployWords();
  const s = t.deployments.simulation;
  const { transitions } = result;
  if (!transitions || transitions.decisions.length === 0) return <p className="dim">{s.noMatrix}</p>;
  const { counts } = transitions;
  // an answer that nobody gave, neither before nor after, needs no row
  const shown = transitions.decisions.map((name, at) => ({ name, at })).filter(({ at }) => counts[at]?.some((n) => n > 0) || counts.some((row) => (row[at] ?? 0) > 0));
  const most = Math.max(1, ...counts.flatMap((row, i) => row.filter((_, j) => i !== j)));
  return (
    <div className="matrix-scroll">
      <table className="matrix">
        <thead><tr><td />{shown.map(({ name }) => <th key={name} scope="col">{name}</th>)}</tr></thead>
        <tbody>
          {shown.map(({ name: before, at: i }) => (
            <tr key={before}>
              <th scope="row">{before}</th>
              {shown.map(({ name: after, at: j }) => {
                const n = counts[i]?.[j] ?? 0;
                const changed = i !== j && n > 0;
                // the square root keeps a few changes visible beside many
                const heat = changed ? 12 + 48 * Math.sqrt(n / most) : 0;
                return <td key={after}><button type="button" className={changed ? "cell cell-changed" : "cell"} style={changed ? ({ "--heat": heat } as CSSProperties) : undefined} disabled={n === 0} onClick={() => onOpen({ before, after })}>{f.number(n)}<span className="sr">{s.cell(before, after)}</span></button></td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** For these less is better. */
const LESS = new Set(["false_negative_rate", "false_positive_rate"]);

/** Before and after against people's labels, as dumbbells. */
function Labels({ simulation }: { simulation: Simulation }): ReactNode {
  const { t } = useDeployWords();
  const s = t.deployments.simulation;
  const { result } = simulation;
  const rows = ["accuracy", "false_negative_rate", "false_positive_rate"].flatMap((metric) => { const pair = comparedOf(result, metric); return pair ? [{ metric, ...pair }] : []; });
  const [old, fresh] = [simulation.baseline_version ?? NOTHING, simulation.candidate_version ?? NOTHING];
  return (
    <section>
      <h3>{s.labels}<span className="dim">{result.labelled > 0 && `${old} → ${fresh}`}</span></h3>
      {result.labelled === 0 || rows.length === 0 ? <p className="dim">{s.noLabels}</p> : (
        <ul className="dumbbells">
          {rows.map(({ metric, before, after }) => {
            const better = LESS.has(metric) ? after < before : after > before;
            const tone = after === before ? "idle" : better ? "done" : "held";
            const at = scale(before, after);
            return (
              <li key={metric} className={`tone-${tone}`}>
                <span>{s.compared[metric]}</span>
                <span className="dumbbell" aria-hidden><i className="dumbbell-bar" style={{ left: `${Math.min(at[0], at[1])}%`, width: `${Math.abs(at[1] - at[0])}%` }} /><i className="dumbbell-old" style={{ left: `${at[0]}%` }} /><i className="dumbbell-new" style={{ left: `${at[1]}%` }} /></span>
                <span className="num"><span aria-hidden>{shareText(before).replace(" %", "")} → <b>{shareText(after)}</b></span><span className="sr">{s.moved(shareText(before), shareText(after))}</span></span>
              </li>
            );
          })}
        </ul>
      )}
    </section>
  );
}

/** Both ends on a line that holds them with room around, so that small moves are seen; the numbers are written beside. */
function scale(before: number, after: number): [number, number] {
  const [low, high] = [Math.min(before, after), Math.max(before, after)];
  const room = Math.max(high - low, 0.02) * 0.75;
  const [from, to] = [Math.max(0, low - room), Math.min(1, high + room)];
  const at = (value: number) => 100 * ((value - from) / Math.max(1e-9, to - from));
  return [at(before), at(after)];
}

function Judgments({ id, opened, onClose }: { id: string; opened: Opened; onClose: () => void }): ReactNode {
  const { t, f } = useDeployWords();
  const s = t.deployments.simulation;
  const { data, error, reload } = useGet<Items<SimulatedJudgment>>(judgmentsPath(id, opened === "misses" ? { misses: true, limit: MOST } : { ...opened, limit: MOST }));
  const title = opened === "misses" ? s.missesTitle : s.cellTitle(opened.before, opened.after);
  return (
    <Dialog label={title} onClose={onClose}>
      <h2>{title}</h2>
      {!data ? (error ? <Failed error={error} retry={reload} /> : <Skeleton h={24} n={4} />) : data.items.length === 0 ? <p className="dim">{s.noJudgments}</p> : (
        <div className="judgments" tabIndex={0} role="region" aria-label={title}>
          <table>
            <thead><tr><th>{s.when}</th><th>{s.line}</th><th>{s.before}</th><th>{s.after}</th><th>{s.label}</th><th>{s.run}</th></tr></thead>
            <tbody>{data.items.map((each, i) => <tr key={i}><td>{f.dayTime(each.at)}</td><td>{each.line_id ?? NOTHING}</td><td>{each.before ?? NOTHING}</td><td>{each.after ?? NOTHING}</td><td>{each.label ?? NOTHING}</td><td>{each.run ? <Link to={`/runs/${encodeURIComponent(each.run)}${each.node ? `?node=${encodeURIComponent(each.node)}` : ""}`} className="mono">{each.run.slice(-8)}</Link> : NOTHING}</td></tr>)}</tbody>
          </table>
        </div>
      )}
      {data && data.items.length >= MOST && <p className="dim">{s.moreJudgments(f.number(MOST))}</p>}
      <div className="dialog-foot"><Button data-first onClick={onClose}>{t.nav.close}</Button></div>
    </Dialog>
  );
}
