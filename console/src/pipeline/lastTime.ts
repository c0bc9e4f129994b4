/** What stages have used so far, in a sentence: so much, and what else is to come, is used when they are done again. */
import type { Stage } from "../api/types";
import type { Format } from "../words/format";
import type { Dictionary } from "../words/ko";

export function lastTime(stages: Stage[], t: Dictionary, f: Format): string[] {
  const p = t.pipeline;
  const known = stages.filter((stage) => Object.keys(stage.usage).length > 0);
  if (known.length === 0) return [];
  const sum = (name: string): number => known.reduce((total, { usage }) => total + (typeof usage[name] === "number" ? usage[name] : 0), 0);
  const priced = known.flatMap(({ cost }) => (cost === null ? [] : [cost]));
  const used = [`${p.usageNames["cpu_ms"]} ${f.duration(sum("cpu_ms"))}`];
  if (sum("llm_tokens") > 0) used.push(`${p.usageNames["llm_tokens"]} ${f.number(sum("llm_tokens"))}`);
  if (priced.length > 0) used.push(`${p.cost} ${f.number(priced.reduce((total, cost) => total + cost, 0))}`);
  return [p.effectCost(known.length, stages.length, used.join(" · "))];
}
