/** Time travel: the run's graph after each fact, from the server's snapshot and the deltas since. */
import { useEffect, useMemo, useRef, useState } from "react";
import { useGet, useLast } from "../api/cache";
import { call } from "../api/client";
import type { Delta, Deltas, Dict, Fact, FactPage, Graph, MomentPage } from "../api/types";

const WINDOW = 200;
const PAGE = 500;
/** The stretch around the playhead begins at a multiple of it, so that a step seldom asks for another. */
const STEP = PAGE / 2;

export interface Moment {
  graph: Graph | undefined;
  /** Names of variables that the fact at the playhead has changed. */
  changed: Set<string>;
  error: unknown;
}

const path = (run: string, rest: string): string => `/runs/${encodeURIComponent(run)}${rest}`;

/** The graph now (`at` null), or after fact `at`. */
export function useMoment(run: string, at: number | null): Moment {
  const live = useGet<Graph>(path(run, "/graph"));
  const from = at === null ? 0 : Math.max(1, Math.floor((at - 1) / WINDOW) * WINDOW);
  const deltas = useGet<Deltas>(at === null ? null : path(run, `/deltas?from=${from}&to=${from + 2 * WINDOW - 1}`));
  const past = useMemo(() => (at !== null && deltas.data ? fold(deltas.data, at) : null), [deltas.data, at]);
  const last = useLast(past ?? undefined);
  if (at === null) return { graph: live.data, changed: NONE, error: live.error };
  return { graph: past?.graph ?? last?.graph ?? live.data, changed: past?.changed ?? NONE, error: deltas.error };
}

const NONE = new Set<string>();

export function fold(deltas: Deltas, at: number): { graph: Graph; changed: Set<string> } {
  const { snapshot } = deltas;
  const edges = new Map<string, number>();
  const nodes = new Map<string, number>();
  for (const token of snapshot.tokens) {
    if (token.edge) edges.set(token.edge, (edges.get(token.edge) ?? 0) + token.count);
    else if (token.node) nodes.set(token.node, (nodes.get(token.node) ?? 0) + token.count);
  }
  const graph: Graph = { ...snapshot, states: { ...snapshot.states }, variables: { ...snapshot.variables }, taken: [...snapshot.taken], of: deltas.of };
  let changed = NONE;
  for (const step of deltas.steps) {
    if (step.fact > at) break;
    for (const [edge, count] of Object.entries(step.tokens)) edges.set(edge, count);
    for (const [node, count] of Object.entries(step.resting ?? {})) nodes.set(node, count);
    Object.assign(graph.states, step.states);
    for (const name of step.gone ?? []) delete graph.variables[name];
    changed = changedBy(step, graph.variables);
    Object.assign(graph.variables, step.variables);
    graph.taken.push(...step.taken);
    if (step.not_taken) graph.not_taken = step.not_taken;
    graph.time = step.at;
    graph.at = step.fact;
  }
  graph.tokens = [
    ...[...edges].filter(([, count]) => count > 0).map(([edge, count]) => ({ edge, node: null, count, epochs: [] })),
    ...[...nodes].filter(([, count]) => count > 0).map(([node, count]) => ({ edge: null, node, count, epochs: [] })),
  ];
  return { graph, changed };
}

/** Which leaves differ: `sms.attempt` rather than the whole of `sms`. */
function changedBy(step: Delta, before: Dict): Set<string> {
  const out = new Set<string>();
  for (const [name, value] of Object.entries(step.variables)) {
    const was = new Map(leaves(name, before[name]));
    for (const [leaf, now] of leaves(name, value)) if (JSON.stringify(was.get(leaf)) !== JSON.stringify(now)) out.add(leaf);
  }
  return out;
}

/** A value as lines of name and plain value, two levels deep. */
export function leaves(name: string, value: Dict[string] | undefined, depth = 2): [string, Dict[string] | undefined][] {
  if (depth > 0 && value !== null && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length > 0)
    return Object.entries(value).flatMap(([key, inner]) => leaves(`${name}.${key}`, inner, depth - 1));
  return [[name, value]];
}

/** A stretch of a run's facts: the last ones, or those around the playhead. The whole history is never held. */
export function useFacts(run: string, count: number, at: number | null): Fact[] {
  const [facts, setFacts] = useState<Fact[]>([]);
  const held = useRef<{ run: string; facts: Fact[]; asked: number }>({ run, facts: [], asked: 0 });
  const after = at === null ? null : Math.max(0, Math.floor((at - 1) / STEP) * STEP - STEP);
  useEffect(() => {
    if (held.current.run !== run) held.current = { run, facts: [], asked: 0 };
    const now = held.current;
    const number = ++now.asked;
    const more = async () => {
      const [first, last] = [now.facts[0]?.seq ?? 0, now.facts.at(-1)?.seq ?? 0];
      // while it is live only what is new is fetched
      const joins = after === null && last > 0 && last >= count - PAGE;
      if (after !== null && first > 0 && first <= after + 1 && last >= Math.min(count, after + PAGE)) return;
      let next = joins ? last : (after ?? Math.max(0, count - PAGE));
      let known = joins ? now.facts : [];
      const until = after === null ? count : Math.min(count, after + PAGE);
      while (next < until) {
        const page = await call<FactPage>(path(run, `/facts?after=${next}&limit=${PAGE}`));
        if (page.items.length === 0 || number !== now.asked) break;
        known = [...known, ...page.items].slice(-2 * PAGE);
        next = known.at(-1)?.seq ?? next;
      }
      if (number !== now.asked) return;
      now.facts = known;
      setFacts(known);
    };
    more().catch(() => undefined); // the next event tries again
  }, [run, count, after]);
  return facts;
}

/** When facts of the whole run happened, as many as the slider can tell apart. */
export function useMoments(run: string): Moments {
  const { data } = useGet<MomentPage>(path(run, "/moments"));
  return useMemo(() => new Moments(data?.items ?? []), [data]);
}

export class Moments {
  private readonly times: { fact: number; at: number }[];
  constructor(items: MomentPage["items"]) {
    this.times = items.map(({ fact, at }) => ({ fact, at: Date.parse(at) }));
  }

  get all(): readonly { fact: number; at: number }[] {
    return this.times;
  }

  /** When a fact happened; exactly where it is one of these. */
  timeOf(fact: number): number | null {
    return this.times.findLast((time) => time.fact <= fact)?.at ?? null;
  }

  /** The last of these facts that had happened by then. */
  factBy(time: number): number | null {
    return (this.times.findLast(({ at }) => at <= time) ?? this.times[0])?.fact ?? null;
  }
}
