/** Small charts: a sparkline, and runs per hour with a table for screen readers. */
import { useState, type ReactNode } from "react";
import type { Home } from "../api/types";
import { useWords } from "../words";

export function Spark({ series: given, alarm }: { series: (number | null)[]; alarm: boolean }): ReactNode {
  const series = given.filter((value) => value !== null);
  if (series.length < 2) return null;
  const [w, h, pad] = [84, 26, 4];
  const [low, high] = [Math.min(...series), Math.max(...series)];
  const at = (value: number, i: number): [number, number] => [pad + (i / (series.length - 1)) * (w - 2 * pad), high === low ? h - pad : h - pad - ((value - low) / (high - low)) * (h - 2 * pad)];
  const points = series.map(at);
  const last = points.at(-1) as [number, number];
  return (
    <svg className={`spark ${alarm ? "spark-alarm" : ""}`} width={w} height={h} viewBox={`0 0 ${w} ${h}`} aria-hidden>
      <polyline points={points.map((point) => point.join(",")).join(" ")} />
      <circle cx={last[0]} cy={last[1]} r="2.200" />
    </svg>
  );
}

export function Hours({ hours, size: [w, h] }: { hours: Home["hours"]; size: [number, number] }): ReactNode {
  const { t, f } = useWords();
  const [over, setOver] = useState<number | null>(null);
  const most = Math.max(4, ...hours.map((hour) => hour.done + hour.held + hour.failed));
  const step = niceStep(most);
  const top = Math.ceil(most / step) * step;
  const plot = { x: 30, y: 6, w: w - 34, h: h - 28 };
  const y = (value: number) => plot.y + plot.h - (value / top) * plot.h;
  const slot = plot.w / Math.max(1, hours.length);
  const hour = over === null ? null : hours[over];
  return (
    <figure className="hours">
      <svg viewBox={`0 0 ${w} ${h}`} role="img" aria-label={t.home.hoursTable} onMouseLeave={() => setOver(null)}>
        {Array.from({ length: top / step + 1 }, (_, i) => i * step).map((value) => (
          <g key={value}><line x1={plot.x} x2={w - 2} y1={y(value)} y2={y(value)} className="grid" /><text x={plot.x - 8} y={y(value)} textAnchor="end" dominantBaseline="central">{value}</text></g>
        ))}
        {hours.map((hour, i) => {
          const x = plot.x + i * slot + slot * 0.1;
          const bar = slot * 0.8;
          let base = 0;
          return (
            <g key={hour.at} onMouseEnter={() => setOver(i)} opacity={over === null || over === i ? 1 : 0.55}>
              <rect x={plot.x + i * slot} y={plot.y} width={slot} height={plot.h} fill="transparent" />
              {(["done", "held", "failed"] as const).map((kind) => {
                const value = hour[kind];
                if (!value) return null;
                const box = { y: y(base + value), height: Math.max(1.5, y(base) - y(base + value) - (base ? 1 : 0)) };
                base += value;
                return <rect key={kind} x={x} width={bar} rx="1.500" className={`hour-${kind}`} {...box} />;
              })}
              {(hours.length - 1 - i) % 3 === 0 && <text x={x + bar / 2} y={h - 8} textAnchor="middle">{f.clock(hour.at).slice(0, 2)}</text>}
            </g>
          );
        })}
      </svg>
      <figcaption aria-live="off">{hour ? `${f.clock(hour.at)} · ${t.home.done} ${hour.done} · ${t.home.held} ${hour.held} · ${t.home.failedWord} ${hour.failed}` : "\u00a0"}</figcaption>
      <table className="sr">
        <caption>{t.home.hoursTable}</caption>
        <thead><tr><th>{t.home.hour}</th><th>{t.home.done}</th><th>{t.home.held}</th><th>{t.home.failedWord}</th></tr></thead>
        <tbody>{hours.map((hour) => <tr key={hour.at}><td>{f.clock(hour.at)}</td><td>{hour.done}</td><td>{hour.held}</td><td>{hour.failed}</td></tr>)}</tbody>
      </table>
    </figure>
  );
}

function niceStep(most: number): number {
  const raw = most / 3;
  const power = 10 ** Math.floor(Math.log10(raw));
  return Math.max(1, [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw) ?? power * 10);
}
