/** Which activities and paths of the map the sliders leave, and how many cases can be followed along them whole. */
import { flowKey, flowsOf, type ActivityStats, type FlowStats, type MiningMap, type Variant } from "../types";

export interface Shown {
  activities: ActivityStats[];
  flows: FlowStats[];
  /** Paths between activities that are shown, which the slider has taken away. */
  hidden: FlowStats[];
  /** All paths that could be shown between these activities, the strongest first. */
  possible: FlowStats[];
  /** Fewer would leave an activity without a way in or out. */
  least: number;
  /** Cases of which every step is shown. */
  cases: number;
}

/** So many activities are drawn without being asked for. */
const MOST_STEPS = 24;
/** Paths are drawn until so many cases can be followed, but no more than so many. */
const ENOUGH = 0.99;
const MOST_PATHS = 48;

/** The activities that most cases have come first. */
export const byFrequency = (activities: ActivityStats[]): ActivityStats[] => [...activities].sort((a, b) => b.cases - a.cases || b.count - a.count);

export function shownOf(map: MiningMap, steps: number | null, paths: number | null): Shown {
  const ranked = byFrequency(map.activities);
  const activities = ranked.slice(0, clamp(steps ?? MOST_STEPS, 1, ranked.length));
  const names = new Set(["", ...activities.map(({ name }) => name)]);
  const { possible, least } = rankFlows(map.flows.filter(({ source, target }) => names.has(source) && names.has(target)));
  const wanted = clamp(paths ?? enoughPaths(map.variants, possible, least), least, possible.length);
  const flows = possible.slice(0, wanted);
  return { activities, flows, hidden: possible.slice(wanted), possible, least, cases: casesAlong(map.variants, flows) };
}

/** The strongest way into and out of each activity first, so that none hangs in the air; then the others. */
function rankFlows(flows: FlowStats[]): { possible: FlowStats[]; least: number } {
  const ordered = [...flows].sort((a, b) => b.count - a.count || flowKey(a).localeCompare(flowKey(b)));
  const into = new Map<string, FlowStats>(), out = new Map<string, FlowStats>();
  for (const flow of ordered) {
    if (flow.source === flow.target) continue;
    if (!out.has(flow.source)) out.set(flow.source, flow);
    if (!into.has(flow.target)) into.set(flow.target, flow);
  }
  const needed = new Set([...into.values(), ...out.values()]);
  return { possible: [...ordered.filter((flow) => needed.has(flow)), ...ordered.filter((flow) => !needed.has(flow))], least: needed.size };
}

/** How many of the paths it takes until enough cases can be followed. */
function enoughPaths(variants: Variant[], possible: FlowStats[], least: number): number {
  const place = new Map(possible.map((flow, i) => [flowKey(flow), i + 1]));
  const needs = variants.map((variant) => ({ cases: variant.cases, paths: Math.max(0, ...flowsOf(variant).map((flow) => place.get(flowKey(flow)) ?? Infinity)) })).sort((a, b) => a.paths - b.paths);
  const all = needs.reduce((sum, { cases }) => sum + cases, 0);
  let covered = 0;
  for (const { cases, paths } of needs) {
    if (paths > MOST_PATHS) break;
    covered += cases;
    if (covered >= all * ENOUGH) return Math.max(least, paths);
  }
  return Math.max(least, Math.min(MOST_PATHS, possible.length));
}

export function casesAlong(variants: Variant[], flows: FlowStats[]): number {
  const open = new Set(flows.map(flowKey));
  return variants.reduce((sum, variant) => sum + (flowsOf(variant).every((flow) => open.has(flowKey(flow))) ? variant.cases : 0), 0);
}

const clamp = (value: number, least: number, most: number): number => Math.max(Math.min(value, most), Math.min(least, most));
