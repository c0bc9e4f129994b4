/** The charts in what a node has handed over last: in its own fact, else (a large one is kept apart) in the variables that it named. */
import type { Dict, Fact, Run } from "../api/types";
import { specsIn } from "../charts/specs";

export function nodeCharts(run: Run, facts: Fact[], node: string): Dict[] {
  const at = facts.findLastIndex((fact) => fact.fact === "settled" && fact.node === node);
  if (at < 0) return [];
  const own = specsIn(facts[at]?.data["output"]);
  if (own.length > 0) return own;
  const next = facts.slice(at + 1).find((fact) => fact.fact === "named" || fact.fact === "settled");
  const names = next?.fact === "named" ? next.data["names"] : undefined;
  return Array.isArray(names) ? names.flatMap((name) => specsIn(run.variables[String(name)])) : [];
}
