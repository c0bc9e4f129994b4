/** What the numbers of a deployment mean: its tone, the limits of each metric, the verdict, and how even the split is. */
import type { Tone } from "../api/types";
import type { Deployment, DeploymentStatus, MetricName, DeploymentStage, VersionMetrics } from "./types";

export const METRICS: readonly MetricName[] = ["error_rate", "latency_p99_ms", "anomaly_score"];

const TONES: Record<DeploymentStatus, Tone> = {
  in_progress: "moving", paused: "held", rolled_back: "undone", succeeded: "done", failed: "failed",
};
export const toneOf = (status: DeploymentStatus): Tone => TONES[status] ?? "idle";
export const isOpen = (status: DeploymentStatus): boolean => status === "in_progress" || status === "paused";

export interface Limits {
  /** The most with which the next stage begins. */
  promote: number | null;
  /** More than this takes the version back. */
  rollBack: number | null;
}

export function limitsOf({ criteria, triggers }: Pick<Deployment, "criteria" | "triggers">, metric: MetricName): Limits {
  const promote = metric === "error_rate" ? criteria?.error_rate_max : metric === "latency_p99_ms" ? criteria?.latency_p99_max_ms : null;
  return { promote: promote ?? null, rollBack: triggers?.[metric] ?? null };
}

export type Verdict = "within" | "over" | "back" | "few" | "unlimited";

export function verdictOf(value: number | null, { promote, rollBack }: Limits): Verdict {
  if (promote === null && rollBack === null) return "unlimited";
  if (value === null) return "few";
  if (rollBack !== null && value > rollBack) return "back";
  return promote !== null && value > promote ? "over" : "within";
}

export const VERDICT_TONE: Record<Verdict, Tone> = { within: "done", over: "held", back: "failed", few: "held", unlimited: "idle" };

/** The metrics of the version that is replaced and of the new one. */
export function pairOf(versions: VersionMetrics[]): { before: VersionMetrics | null; after: VersionMetrics | null } {
  return { before: versions.find(({ role }) => role === "old") ?? null, after: versions.find(({ role }) => role === "new") ?? null };
}

/** The worst verdict of all metrics, and the first metric that has it. */
export function standing(deployment: Deployment): { verdict: Verdict; metric: MetricName | null } {
  const { after } = pairOf(deployment.versions);
  const order: Verdict[] = ["back", "over", "within"];
  const judged = METRICS.map((metric) => ({ metric, verdict: verdictOf(after?.[metric] ?? null, limitsOf(deployment, metric)) }));
  if (judged.every(({ verdict }) => verdict === "unlimited")) return { verdict: "unlimited", metric: null };
  if (!after || after.samples === 0) return { verdict: "few", metric: null };
  for (const verdict of order) {
    const hit = judged.find((each) => each.verdict === verdict);
    if (hit) return hit;
  }
  return { verdict: "few", metric: null };
}

/** The stage that is live; when it has ended, the last that was. */
export const stageNow = (stages: DeploymentStage[]): number => {
  const at = stages.findIndex(({ status }) => status === "now" || status === "stopped");
  return at >= 0 ? at : Math.max(0, stages.filter(({ status }) => status === "done").length - 1);
};

/** Whether a split is as even as chance allows: three standard deviations around the target. */
export function isEven(counted: number, total: number, percent: number): boolean {
  if (total === 0) return true;
  const share = percent / 100;
  return Math.abs(counted / total - share) <= 3 * Math.sqrt((share * (1 - share)) / total) + 1e-9;
}

/** L01–L06 where the lines follow each other, else the first few. */
export function lineRange(lines: string[]): string {
  const sorted = [...lines].sort();
  const numbers = sorted.map((line) => /^(.*?)(\d+)$/.exec(line));
  const first = numbers[0];
  const follows = sorted.length > 2 && first && numbers.every((part, i) => part && part[1] === first[1] && Number(part[2]) === Number(first[2]) + i);
  if (follows) return `${sorted[0]}–${sorted.at(-1)}`;
  return sorted.length > 4 ? `${sorted.slice(0, 3).join(", ")} +${sorted.length - 3}` : sorted.join(", ");
}
