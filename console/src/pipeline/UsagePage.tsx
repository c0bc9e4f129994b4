/** Usage per tenant and day: executions, time, bytes, tokens and cost; as bars, as a table, and as CSV. */
import { Download } from "lucide-react";
import type { ReactNode } from "react";
import { useGet } from "../api/cache";
import { query } from "../api/client";
import { Button, Card, Empty, Failed, Segment, Skeleton } from "../components";
import { download } from "../runs/csv";
import { useFrame } from "../shell/chrome";
import { useParam } from "../shell/router";
import { useWords } from "../words";
import type { DayUsage } from "../api/types";
import { Bars } from "./Tiles";

const DAYS = ["7", "30", "90"] as const;
type Days = (typeof DAYS)[number];

export function UsagePage(): ReactNode {
  const { t } = useWords();
  const p = t.pipeline;
  const [wanted, setDays] = useParam("days");
  const days: Days = DAYS.find((each) => each === wanted) ?? "7";
  const since = new Date(Date.now() - (Number(days) - 1) * 86_400_000).toISOString().slice(0, 10);
  const answer = useGet<{ items: DayUsage[] }>(`/pipelines/usage${query({ from: `${since}T00:00:00Z` })}`);
  useFrame([{ text: p.title, to: "/pipelines" }, { text: p.usage }]);
  const rows = answer.data?.items;
  return (
    <div className="pipes">
      <div className="home-head">
        <div className="grow"><h1>{p.usage}</h1><p className="dim">{p.usageAbout}</p></div>
        <Segment label={p.period} value={days} onChange={(value) => setDays(value === "7" ? null : value)} options={DAYS.map((each) => ({ id: each, text: p.lastDays(each) }))} />
        <Button icon={Download} disabled={!rows?.length} onClick={() => rows && download(csvOf(rows), `usage-${since}.csv`)}>{t.runs.csv}</Button>
      </div>
      {!rows ? (answer.error ? <Failed error={answer.error} retry={answer.reload} /> : <Skeleton h={60} n={4} />) : rows.length === 0 ? <Card><Empty title={p.usageNone} text={p.noneDo} /></Card> : <Shown rows={rows} />}
    </div>
  );
}

function Shown({ rows }: { rows: DayUsage[] }): ReactNode {
  const { t, f } = useWords();
  const p = t.pipeline;
  const tenants = [...new Set(rows.map((row) => row.tenantId))].map((tenant) => ({ tenant, days: rows.filter((row) => row.tenantId === tenant) })).map(({ tenant, days }) => ({ tenant, executions: sum(days, "executions"), cpuMs: sum(days, "cpuMs"), cost: days.every((day) => day.cost === null) ? null : sum(days, "cost") }));
  const priced = tenants.some(({ cost }) => cost !== null);
  return (
    <>
      <Card label={p.perTenant}>
        <div className="card-head"><h2>{p.perTenant}</h2></div>
        <div className="pad-small"><Bars tone="accent" rows={tenants.map(({ tenant, executions, cpuMs, cost }) => ({ name: tenant, value: priced ? (cost ?? 0) : cpuMs, text: `${p.executionsN(f.number(executions))} · ${cost !== null ? f.number(cost) : f.duration(cpuMs, 1)}`, to: "/pipelines" }))} /></div>
        {!priced && <p className="pad-small dim">{p.noRates}</p>}
      </Card>
      <Card label={p.perDay}>
        <div className="card-head"><h2>{p.perDay}</h2></div>
        <div className="ops-scroll" tabIndex={0} role="region" aria-label={p.perDay}>
          <table className="usage-table">
            <thead><tr><th>{p.day}</th><th>{p.columns.tenant}</th><th className="num">{p.executions}</th><th className="num">{p.status["COMPLETED"]}</th><th className="num">{p.status["FAILED"]}</th><th className="num">{p.usageNames["cpu_ms"]}</th><th className="num">{p.usageNames["bytes_in"]}</th><th className="num">{p.usageNames["bytes_out"]}</th><th className="num">{p.usageNames["peak_rss"]}</th><th className="num">{p.usageNames["llm_tokens"]}</th><th className="num">{p.cost}</th></tr></thead>
            <tbody>{[...rows].reverse().map((row) => (
              <tr key={`${row.day} ${row.tenantId}`}><td>{f.day(`${row.day}T12:00:00Z`)}</td><td>{row.tenantId}</td><td className="num">{f.number(row.executions)}</td><td className="num">{f.number(row.completed)}</td><td className="num">{row.failed ? <b className="ink-failed">{f.number(row.failed)}</b> : 0}</td><td className="num">{f.duration(row.cpuMs, 1)}</td><td className="num">{f.bytes(row.bytesIn)}</td><td className="num">{f.bytes(row.bytesOut)}</td><td className="num">{f.bytes(row.peakRss)}</td><td className="num">{f.number(row.llmTokens)}</td><td className="num">{row.cost === null ? "–" : f.number(row.cost)}</td></tr>
            ))}</tbody>
          </table>
        </div>
      </Card>
    </>
  );
}

const sum = (rows: DayUsage[], name: "executions" | "cpuMs" | "cost"): number => rows.reduce((total, row) => total + (row[name] ?? 0), 0);

function csvOf(rows: DayUsage[]): string {
  const names = ["day", "tenantId", "executions", "completed", "failed", "wallMs", "cpuMs", "peakRss", "bytesIn", "bytesOut", "llmTokens", "cost"] as const;
  return `\ufeff${names.join(",")}\r\n${rows.map((row) => `${names.map((name) => row[name] ?? "").join(",")}\r\n`).join("")}`;
}
