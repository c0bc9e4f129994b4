/** What a simulation report says in a sentence: first whether the difference is real and large, then what it costs. */
import type { DeployDictionary } from "./speech";
import type { Compared, Simulation, SimulationResult } from "./types";

export const CHANCE = 0.05;

export const comparedOf = (result: SimulationResult, metric: string): { before: number; after: number } | null => {
  const compared = result.detailed_comparison.find((each) => each.metric === metric);
  return compared && typeof compared.baseline === "number" && typeof compared.simulated === "number" ? { before: compared.baseline, after: compared.simulated } : null;
};

export const isNumeric = (compared: Compared): boolean => typeof compared.baseline === "number" || typeof compared.simulated === "number";

export function verdictSentence({ result }: Simulation, t: DeployDictionary): string {
  const s = t.deployments.simulation;
  if (result.summary.total_samples === 0) return s.empty;
  if (result.risk_assessment.changed_decisions === 0) return s.unchanged;
  const { test } = result;
  const real = !test || test.p_value === null ? s.untested : !test.significant ? s.chance : test.effect_size ? (s.real[test.effect_size.magnitude] ?? s.realPlain) : s.realPlain;
  return [real, ...costs(result, t)].join(" ");
}

/** What becomes of missed defects and of false alarms; said only where people have labelled. */
function costs(result: SimulationResult, t: DeployDictionary): string[] {
  const s = t.deployments.simulation;
  if (result.labelled === 0) return [];
  const misses = comparedOf(result, "false_negative_rate");
  const alarms = comparedOf(result, "false_positive_rate");
  return [
    misses && (misses.after > misses.before ? s.misses.more : misses.after === misses.before ? s.misses.same : misses.after < misses.before / 2 ? s.misses.half : s.misses.less),
    alarms && (alarms.after > alarms.before ? s.alarms.more : alarms.after === alarms.before ? s.alarms.same : s.alarms.less),
  ].filter((text) => text !== null);
}
