/** One metric of both versions over time: its limit as a line, the stage's boundary, and the future hatched. */
import { useId, type ReactNode } from "react";
import type { Limits } from "./rollout";
import { metricText } from "./numbers";
import { useDeployWords } from "./speech";
import type { Deployment, MetricName, MetricPoint } from "./types";

const [W, H] = [228, 78];
const PLOT = { x: 2, y: 8, w: W - 4, h: H - 26 };
/** Two labels of the axis that are nearer than this would touch. */
const APART = 36;

interface Props {
  deployment: Deployment;
  metric: MetricName;
  limits: Limits;
  from: number;
  to: number;
  now: number;
}

export function MetricChart({ deployment, metric, limits, from, to, now }: Props): ReactNode {
  const { t, f } = useDeployWords();
  const hatch = useId();
  const points = deployment.series.filter((point) => point[metric] !== null && Date.parse(point.at) >= from && Date.parse(point.at) <= to);
  const limit = limits.promote ?? limits.rollBack;
  const most = Math.max(...points.map((point) => point[metric] ?? 0), 0);
  const both = limits.promote !== null && limits.rollBack !== null && most > 0.6 * limits.rollBack;
  const top = Math.max(most * 1.15, (both ? (limits.rollBack ?? 0) : (limit ?? 0)) * 1.25, 1e-9);
  const x = (at: number) => PLOT.x + ((at - from) / Math.max(1, to - from)) * PLOT.w;
  const y = (value: number) => PLOT.y + PLOT.h - (Math.min(value, top) / top) * PLOT.h;
  const lineOf = (isNew: boolean) => points.filter((point) => (point.version === deployment.version) === isNew);
  const borders = deployment.stages.flatMap((stage) => (stage.begins_at ? [Date.parse(stage.begins_at)] : [])).filter((at) => at > from && at < to);
  const marks = axisMarks([from, ...borders, to], x);
  const future = Math.min(to, Math.max(from, now));
  const last = (isNew: boolean) => metricText(metric, lineOf(isNew).at(-1)?.[metric], f);
  return (
    <svg className="metric-chart" viewBox={`0 0 ${W} ${H}`} role="img" aria-label={t.deployments.chartSays(t.deployments.metric[metric] ?? metric, last(false), last(true), limit === null ? null : metricText(metric, limit, f))}>
      <pattern id={hatch} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line x1="0" x2="0" y1="0" y2="5" className="hatch" /></pattern>
      {future < to && <rect x={x(future)} y={PLOT.y - 6} width={x(to) - x(future)} height={PLOT.h + 6} fill={`url(#${hatch})`} />}
      <line className="axis" x1={PLOT.x} x2={PLOT.x + PLOT.w} y1={PLOT.y + PLOT.h} y2={PLOT.y + PLOT.h} />
      {borders.map((at) => <line key={at} className="border" x1={x(at)} x2={x(at)} y1={PLOT.y - 6} y2={PLOT.y + PLOT.h} />)}
      {limits.promote !== null && <Limit at={y(limits.promote)} text={metricText(metric, limits.promote, f)} look="promote" />}
      {limits.rollBack !== null && (limits.promote === null || both) && <Limit at={y(limits.rollBack)} text={metricText(metric, limits.rollBack, f)} look="back" />}
      <Line points={lineOf(false)} metric={metric} x={x} y={y} look="before" />
      <Line points={lineOf(true)} metric={metric} x={x} y={y} look="after" />
      {marks.map(({ at, anchor }) => <text key={at} x={Math.min(W - 1, Math.max(1, x(at)))} y={H - 4} textAnchor={anchor}>{f.clock(at)}</text>)}
    </svg>
  );
}

function Limit({ at, text, look }: { at: number; text: string; look: "promote" | "back" }): ReactNode {
  return <g className={`limit limit-${look}`}><line x1={PLOT.x} x2={PLOT.x + PLOT.w} y1={at} y2={at} /><text x={PLOT.x + PLOT.w} y={at - 4} textAnchor="end">{text}</text></g>;
}

function Line({ points, metric, x, y, look }: { points: MetricPoint[]; metric: MetricName; x: (at: number) => number; y: (value: number) => number; look: "before" | "after" }): ReactNode {
  const drawn = points.map((point) => [x(Date.parse(point.at)), y(point[metric] ?? 0)] as const);
  const last = drawn.at(-1);
  if (!last) return null;
  return <g className={`version version-${look}`}>{drawn.length > 1 && <polyline points={drawn.map((point) => point.join(",")).join(" ")} />}<circle cx={last[0]} cy={last[1]} r={look === "after" ? 3.2 : 2.6} /></g>;
}

/** The ends always, and the boundaries that have room between them. */
function axisMarks(times: number[], x: (at: number) => number): { at: number; anchor: "start" | "middle" | "end" }[] {
  const [first, last] = [times[0] as number, times.at(-1) as number];
  const kept: number[] = [];
  for (const at of times.slice(1, -1)) if (x(at) - x(first) > 1.6 * APART && x(last) - x(at) > 1.6 * APART && kept.every((other) => Math.abs(x(other) - x(at)) > APART)) kept.push(at);
  return [{ at: first, anchor: "start" }, ...kept.map((at) => ({ at, anchor: "middle" as const })), { at: last, anchor: "end" }];
}
