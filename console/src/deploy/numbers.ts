/** How the numbers of deployments and reports are written: shares, milliseconds, scores, p-values. */
import type { Format } from "../words/format";
import type { MetricName } from "./types";

export const NOTHING = "–";

/** 40 % */
export const percentText = (percent: number, f: Format): string => `${f.number(percent)} %`;
/** 0.5 %, with one decimal. */
export const shareText = (share: number | null | undefined): string => (share === null || share === undefined ? NOTHING : share > 0 && share < 0.0005 ? "< 0.1 %" : `${(100 * share).toFixed(1)} %`);
export const msText = (ms: number | null | undefined, f: Format): string => (ms === null || ms === undefined ? NOTHING : `${f.number(ms < 10 ? ms : Math.round(ms))} ms`);

export function metricText(metric: MetricName, value: number | null | undefined, f: Format): string {
  if (value === null || value === undefined) return NOTHING;
  return metric === "error_rate" ? shareText(value) : metric === "latency_p99_ms" ? msText(value, f) : value.toFixed(2);
}

export const pText = (p: number): string => (p < 0.001 ? "< 0.001" : p.toFixed(3));
