/** The shapes of process mining in the API. */

export interface ActivityStats {
  name: string;
  /** The activity of the definition that bears this name. */
  activity_id: string | null;
  count: number;
  cases: number;
  starts: number;
  ends: number;
  /** How often a person did it, and how often an agent. */
  human: number;
  agent: number;
  median_work_ms: number | null;
  p95_work_ms: number | null;
}

/** `source` is "" at the beginning of a case, `target` is "" at its end. */
export interface FlowStats {
  source: string;
  target: string;
  count: number;
  cases: number;
  median_wait_ms: number | null;
  p95_wait_ms: number | null;
}

export interface Variant {
  rank: number;
  activities: string[];
  cases: number;
  share: number;
  median_ms: number | null;
  /** Null when there is no definition to compare it with. */
  fits: boolean | null;
  /** The places of the activities that the model does not allow there. */
  deviating: number[];
  case_ids: string[];
}

export interface Bottleneck {
  source: string;
  target: string;
  /** Of all the time that cases took. */
  share: number;
  median_wait_ms: number | null;
  p95_wait_ms: number | null;
  arrivals_per_day: number;
  people: number;
}

export interface Rework {
  activity: string;
  cases: number;
  repeats: number;
}

export interface Handover {
  source: string;
  target: string;
  count: number;
  median_wait_ms: number | null;
}

export type DeviationKind = "skipped" | "repeated" | "unknown" | "order" | "missing_end";

export interface Deviation {
  kind: DeviationKind;
  activity: string;
  /** The activity before it; "" at the beginning. */
  before: string;
  after: string;
  cases: number;
  /** The ranks of the variants that have it first. */
  variants: number[];
  in_discovered: boolean | null;
}

export interface Conformance {
  version: number;
  fitting: number;
  cases: number;
  fitness: number;
  precision: number | null;
  bounded: boolean;
  deviations: Deviation[];
}

export interface MiningMap {
  id: string;
  name: string;
  version: number | null;
  source: "runs" | "log";
  log_id: string | null;
  period: { from: string | null; to: string | null };
  cases: number;
  events: number;
  median_case_ms: number | null;
  activities: ActivityStats[];
  flows: FlowStats[];
  /** The most frequent ones, of all that there are. */
  variants: Variant[];
  variants_total: number;
  bottleneck: Bottleneck | null;
  rework: Rework[];
  handovers: Handover[];
  conformance: Conformance | null;
  discovered: { model_id: string; version: number; changes: number; would_fit: number | null } | null;
}

export interface MiningLine {
  id: string;
  name: string;
  version: number | null;
  cases: number;
  events: number;
  fitness: number | null;
  median_case_ms: number | null;
  bottleneck: Pick<Bottleneck, "source" | "target" | "median_wait_ms"> | null;
  pending_model: string | null;
  source: "runs" | "log";
}

export interface MiningLog {
  id: string;
  name: string;
  process: string | null;
  cases: number;
  events: number;
}

export type ChangeKind = "added" | "removed" | "changed";

export type ChangeShape = "path_back" | "optional" | "beside" | "step_added" | "step_removed" | "other";

/** One row of the difference; it may cover several elements. */
export interface ModelChange {
  kind: ChangeKind;
  /** What its title and detail are made of, for other languages; "other" has only the server's words. */
  shape: ChangeShape;
  activities: string[];
  title: string;
  detail: string;
  elements: string[];
  cases: number;
  saved_ms_per_week: number | null;
}

export type DeviationLike = Pick<Deviation, "kind" | "activity" | "before" | "after" | "cases">;

/** `rule`: it goes past a control, which is never learned. */
export type StillDeviating = DeviationLike & { rule: boolean };

export interface ModelDiff {
  id: string;
  name: string;
  base_version: number;
  model_id: string;
  model_version: number;
  approval_status: string;
  algorithm: string;
  period: { from: string | null; to: string | null };
  cases: number;
  events: number;
  precision: number | null;
  sound: boolean;
  base_bpmn: string;
  model_bpmn: string;
  merged_bpmn: string;
  changes: ModelChange[];
  replay: { cases: number; base_fit: number; model_fit: number; still: StillDeviating[] };
  saved_ms_per_week: number | null;
  approvers: { permission: string; mine: boolean; needs_two: boolean; by_author: boolean };
  running: { total: number; looked_at: number; can_move: number; cannot: { reason: string; count: number }[]; at: { activity: string; count: number }[] };
}

/** A step between activities, as a key of maps. */
export const flowKey = ({ source, target }: { source: string; target: string }): string => JSON.stringify([source, target]);

/** The steps of a variant, with its beginning and its end. */
export const flowsOf = (variant: Pick<Variant, "activities">): { source: string; target: string }[] => {
  const all = ["", ...variant.activities, ""];
  return all.slice(1).map((target, i) => ({ source: all[i] ?? "", target }));
};
