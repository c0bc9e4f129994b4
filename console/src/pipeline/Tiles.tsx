/** One strip of tiles: the queue, what runs, how long the pick-up takes, today's failures by code, today's usage. */
import type { ReactNode } from "react";
import { useGet } from "../api/cache";
import { Card } from "../components";
import { Spark } from "../home/charts";
import { Link, useSearch } from "../shell/router";
import { useWords } from "../words";
import type { DayUsage, PipelineOverview } from "../api/types";

export function Tiles({ overview, oldest }: { overview: PipelineOverview; oldest: number | null }): ReactNode {
  const { t, f } = useWords();
  const p = t.pipeline;
  const late = oldest !== null && oldest > overview.oldestLimitS * 1000;
  const failures = overview.failures.reduce((sum, { count }) => sum + count, 0);
  const full = overview.slots !== null && overview.running >= overview.slots;
  const wanted = useSearch().get("pipeline");
  const lately = wanted ? overview.lately.pipelines.find(({ code }) => code === wanted) : overview.lately.all;
  return (
    <Card className="pipe-tiles" label={p.atAGlance}>
      <div className="pipe-tile">
        <h2>{p.tiles.queue}</h2>
        <Link to="/pipelines?status=PENDING" className="pipe-big">{f.number(overview.pending)}<small>{t.common.unitRuns}</small></Link>
        {lately && <Lately series={lately.waiting} alarm={late} text={(value) => f.number(value)} />}
        <p className={late ? "ink-failed" : "dim"}>{oldest === null ? p.queueEmpty : p.oldestOf(f.duration(oldest, 1), f.duration(overview.oldestLimitS * 1000, 1))}</p>
      </div>
      <div className="pipe-tile">
        <h2>{p.tiles.running}</h2>
        <Link to="/pipelines?status=RUNNING" className="pipe-big">{f.number(overview.running)}<small>{t.common.unitRuns}</small></Link>
        {lately && <Lately series={lately.running} text={(value) => f.number(value)} />}
        <p className={full ? "ink-held" : "dim"}>{overview.slots === null ? p.noLimit : p.slotsOf(overview.running, overview.slots, full)}</p>
      </div>
      <div className="pipe-tile">
        <h2>{p.tiles.pickUp}</h2>
        <p className="pipe-big">{overview.dwellP95Ms === null ? "–" : f.duration(overview.dwellP95Ms, 1)}</p>
        {lately && <Lately series={lately.waitedMs} text={(ms) => f.duration(ms, 1)} />}
        <p className="dim">{overview.dwellP95Ms === null ? p.dwellNone : p.dwell}</p>
      </div>
      <div className="pipe-tile pipe-bars">
        <div className="pipe-tile-head"><h2>{p.tiles.failures} <b>{f.number(failures)}</b></h2><Link to="/ops/dead-letters">{t.nav.letters}</Link></div>
        {failures === 0 ? <p className="dim">{p.failuresNone}</p> : <Bars rows={overview.failures.slice(0, 5).map(({ code, count }) => ({ name: code, value: count, text: f.number(count), to: `/pipelines?status=FAILED,TIMEOUT&q=${encodeURIComponent(code)}` }))} tone="failed" mono />}
      </div>
      <UsageTile />
    </Card>
  );
}

/** The last four hours as a line, of the pipeline that was chosen or of all; its ends in words. */
function Lately({ series, text, alarm = false }: { series: (number | null)[]; text: (value: number) => string; alarm?: boolean }): ReactNode {
  const { t } = useWords();
  const known = series.filter((value) => value !== null);
  if (known.length < 2) return null;
  const told = t.pipeline.lately(text(Math.min(...known)), text(Math.max(...known)));
  return <span className="pipe-spark" title={told}><Spark series={series} alarm={alarm} /><span className="sr">{told}</span></span>;
}

/** One bar per tenant: who sees one tenant alone has nothing to compare (F-A.16). */
function UsageTile(): ReactNode {
  const { t, f } = useWords();
  const p = t.pipeline;
  const { data } = useGet<{ items: DayUsage[] }>("/pipelines/usage");
  const day = new Date().toISOString().slice(0, 10);
  const rows = data?.items.filter((row) => row.day === day) ?? [];
  if (new Set(data?.items.map((row) => row.tenantId)).size < 2) return null;
  const priced = rows.some((row) => row.cost !== null);
  const value = (row: DayUsage): number => (priced ? (row.cost ?? 0) : row.cpuMs);
  return (
    <div className="pipe-tile pipe-bars pipe-usage">
      <div className="pipe-tile-head"><h2>{p.tiles.usage} <b>{priced ? f.number(rows.reduce((sum, row) => sum + (row.cost ?? 0), 0)) : f.duration(rows.reduce((sum, row) => sum + row.cpuMs, 0), 1)}</b></h2><Link to="/pipelines/usage">{p.usageAll}</Link></div>
      {rows.length === 0 ? <p className="dim">{p.usageNone}</p> : <Bars rows={rows.slice(0, 5).map((row) => ({ name: row.tenantId, value: value(row), text: p.executionsN(f.number(row.executions)), to: "/pipelines/usage" }))} tone="accent" />}
    </div>
  );
}

export interface BarRow {
  name: string;
  value: number;
  text: string;
  to: string;
}

/** Bars of one measure, the longest is the whole width; each leads to what it counts. */
export function Bars({ rows, tone, mono = false }: { rows: BarRow[]; tone: "failed" | "accent"; mono?: boolean }): ReactNode {
  const most = Math.max(...rows.map((row) => row.value), 1e-9);
  return (
    <ul className={`bars bars-${tone}`}>
      {rows.map((row) => (
        <li key={row.name}><Link to={row.to}><span className={`cut ${mono ? "mono" : ""}`}>{row.name}</span><span className="bars-track" aria-hidden><i style={{ width: `${Math.max(1.5, (100 * row.value) / most)}%` }} /></span><b>{row.text}</b></Link></li>
      ))}
    </ul>
  );
}
