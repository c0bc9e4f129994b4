/** The evidence for a decision: decisive values, a series as a chart, the rules that matched, and the reason, marked when it is an AI's. */
import { ChevronDown, Sparkles } from "lucide-react";
import { useMemo, type ReactNode } from "react";
import { isDict } from "../api/json";
import type { Dict, Field, Item, Json } from "../api/types";
import { Charts } from "../charts/Charts";
import { specsIn } from "../charts/specs";
import { useWords } from "../words";

export function DecisiveFields({ fields }: { fields: Field[] }): ReactNode {
  const { t, f } = useWords();
  if (fields.length === 0) return null;
  return (
    <dl className="decisive">
      {fields.map((field) => {
        const number = typeof field.value === "number" ? field.value : null;
        const share = number !== null && number >= 0 && number <= 1 && /confid|score|ratio/i.test(field.key);
        return (
          <div key={field.key}>
            <dt>{t.inbox.field[field.key] ?? field.label}</dt>
            <dd className={toneOf(field)}>{typeof field.value === "object" ? JSON.stringify(field.value) : number !== null ? (share ? number : f.number(number)) : String(field.value)}{field.unit && <span className="dim"> {field.unit}</span>}</dd>
            {share && number !== null && <span className="share" aria-hidden><i style={{ width: `${number * 100}%` }} /></span>}
          </div>
        );
      })}
    </dl>
  );
}

function toneOf(field: Field): string {
  if (field.tone) return `ink-${field.tone}`;
  const word = typeof field.value === "string" ? field.value : "";
  return /^(critical|failed|reject)/i.test(word) ? "ink-failed" : /^(warning|high)/i.test(word) ? "ink-held" : /^normal$/i.test(word) ? "ink-done" : "";
}

export interface Judgment {
  decision: string | null;
  reasoning: string | null;
  rules: { id: string; text: string }[];
  recommendations: string[];
  ai: boolean;
}

/** The judgment in the item's data, else in the run's variables. */
export function judgmentOf(item: Item, variables: Dict | undefined): Judgment | null {
  const data = [...candidates(item.data), ...candidates(variables ?? null)].find((candidate) => "reasoning" in candidate || "matched_rules" in candidate);
  if (!data) return null;
  const rules = Array.isArray(data["matched_rules"]) ? data["matched_rules"] : [];
  const by = String(data["decided_by"] ?? data["source"] ?? "");
  return {
    decision: typeof data["decision"] === "string" ? data["decision"] : null,
    reasoning: typeof data["reasoning"] === "string" && data["reasoning"] ? data["reasoning"] : null,
    rules: rules.map((rule) => (isDict(rule) ? { id: String(rule["rule_id"] ?? rule["id"] ?? ""), text: String(rule["name"] ?? rule["description"] ?? rule["title"] ?? "") } : { id: String(rule), text: "" })),
    recommendations: Array.isArray(data["recommendations"]) ? data["recommendations"].map((recommendation) => (isDict(recommendation) ? String(recommendation["action"] ?? recommendation["text"] ?? JSON.stringify(recommendation)) : String(recommendation))) : [],
    ai: /llm|ai|hybrid|agent/i.test(by),
  };
}

function candidates(value: Json): Dict[] {
  if (!isDict(value)) return [];
  return [value, ...Object.values(value).filter(isDict)];
}

interface Series {
  name: string;
  value: string;
  points: { at: string; value: number }[];
}

/** The first list of rows with a date and a number, to be drawn as a line. */
function seriesOf(value: Json | undefined, depth = 3, name = ""): Series | null {
  if (Array.isArray(value)) return rowsSeries(value, name);
  if (!isDict(value) || depth === 0) return null;
  for (const [key, inner] of Object.entries(value)) {
    const series = seriesOf(inner, depth - 1, key === "rows" || key === "data" ? name || key : key);
    if (series) return series;
  }
  return null;
}

function rowsSeries(rows: Json[], name: string): Series | null {
  const first = rows[0];
  if (rows.length < 4 || !isDict(first)) return null;
  const day = Object.keys(first).find((key) => typeof first[key] === "string" && !Number.isNaN(Date.parse(first[key] as string)) && /\d{4}-\d\d/.test(first[key] as string));
  const numbers = Object.keys(first).filter((key) => rows.every((row) => isDict(row) && typeof row[key] === "number"));
  const number = numbers.find((key) => /rate|ratio|율/i.test(key)) ?? numbers.find((key) => /value|count/i.test(key)) ?? numbers[0];
  if (!day || !number) return null;
  const points = rows.map((row) => ({ at: String((row as Dict)[day]), value: Number((row as Dict)[number]) })).sort((a, b) => (a.at < b.at ? -1 : 1));
  return { name, value: number, points: points.slice(-60) };
}

function Chart({ series }: { series: Series }): ReactNode {
  const { t, f } = useWords();
  const [w, h] = [520, 142];
  const plot = { x: 44, y: 16, w: w - 68, h: h - 46 };
  const values = series.points.map((point) => point.value);
  const top = Math.max(...values) * 1.1 || 1;
  const percent = /rate|ratio|율/i.test(series.value) && top <= 1.5;
  const show = (value: number) => (percent ? `${f.number(value * 100)}%` : f.number(value));
  const x = (i: number) => plot.x + (i / Math.max(1, values.length - 1)) * plot.w;
  const y = (value: number) => plot.y + plot.h - (value / top) * plot.h;
  const line = values.map((value, i) => `${x(i)},${y(value)}`).join(" ");
  const marks = [0, 0.33, 0.72, 1].map((share) => Math.round(share * (values.length - 1)));
  const last = values.length - 1;
  return (
    <figure className="chart card">
      <figcaption><b>{t.inbox.series(t.inbox.field[series.value] ?? series.value, values.length)}</b><span className="dim mono">{series.name}</span></figcaption>
      <svg viewBox={`0 0 ${w} ${h}`} role="img" aria-label={`${series.value}: ${show(values[0] ?? 0)} → ${show(values[last] ?? 0)}`}>
        {[0, 0.5, 1].map((share) => <g key={share}><line className="grid" x1={plot.x} x2={w - 16} y1={y(top * share / 1.1)} y2={y(top * share / 1.1)} /><text x={plot.x - 7} y={y(top * share / 1.1)} textAnchor="end" dominantBaseline="central">{show((top * share) / 1.1)}</text></g>)}
        <polygon className="area" points={`${plot.x},${y(0)} ${line} ${x(last)},${y(0)}`} />
        <polyline className="line" points={line} />
        <circle className="last" cx={x(last)} cy={y(values[last] ?? 0)} r="4" />
        <text className="last-text" x={x(last) - 9} y={y(values[last] ?? 0) - 4} textAnchor="end">{show(values[last] ?? 0)}</text>
        {[...new Set(marks)].map((i) => { const at = new Date(series.points[i]?.at ?? ""); return <text key={i} x={x(i)} y={h - 8} textAnchor="middle">{`${at.getUTCMonth() + 1}/${at.getUTCDate()}`}</text>; })}
      </svg>
    </figure>
  );
}

export function Evidence({ item, variables, phone }: { item: Item; variables: Dict | undefined; phone: boolean }): ReactNode {
  const { t } = useWords();
  const judgment = useMemo(() => judgmentOf(item, variables), [item, variables]);
  const series = useMemo(() => seriesOf(item.data) ?? seriesOf(variables), [item.data, variables]);
  const charts = useMemo(() => { const own = specsIn(item.data); return own.length > 0 ? own : specsIn(variables); }, [item.data, variables]);
  const rest = isDict(item.data) ? Object.entries(item.data).filter(([key]) => !item.fields.some((field) => field.key === key)) : [];
  const reason = judgment && (
    <>
      {judgment.rules.length > 0 && <section><h2>{t.inbox.rules}</h2><ul className="rules">{judgment.rules.slice(0, 6).map((rule) => <li key={rule.id}><b className="mono">{rule.id}</b> {rule.text}</li>)}</ul></section>}
      {judgment.reasoning && <section><h2>{judgment.ai ? t.inbox.aiReason : t.inbox.reason}</h2><blockquote>{judgment.reasoning}</blockquote></section>}
      {judgment.recommendations.length > 0 && <section><h2>{t.inbox.recommendations}</h2><ul className="recs">{judgment.recommendations.map((recommendation) => <li key={recommendation}>{recommendation}</li>)}</ul></section>}
    </>
  );
  return (
    <>
      {charts.length > 0 ? <Charts value={charts} /> : series && <Chart series={series} />}
      {phone && judgment && (judgment.reasoning || judgment.rules.length > 0)
        ? <details className="fold card"><summary><Sparkles size={17} aria-hidden /><b className="grow">{judgment.ai ? t.inbox.aiFold(judgment.rules.length) : t.inbox.reason}</b><ChevronDown size={18} aria-hidden /></summary><div>{reason}</div></details> : reason}
      {rest.length > 0 && (
        <section>
          <h2>{t.inbox.data}</h2>
          <dl className="item-data">{rest.slice(0, 12).map(([key, value]) => <div key={key}><dt>{key.replaceAll("_", " ")}</dt><dd>{isDict(value) || Array.isArray(value) ? <details><summary className="mono">{JSON.stringify(value).slice(0, 60)}</summary><pre className="code">{JSON.stringify(value, null, 2).slice(0, 65536)}</pre></details> : String(value)}</dd></div>)}</dl>
        </section>
      )}
    </>
  );
}
