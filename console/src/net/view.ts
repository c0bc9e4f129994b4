/** The state of the canvas outside of the nodes' data, so that a changed status renders only its node. */
import { createContext, useContext, useSyncExternalStore } from "react";
import type { Graph, NodeState } from "../api/types";

export type CanvasMode = "tokens" | "time" | "counts";

export interface NetView {
  states: Graph["states"];
  edgeTokens: Map<string, number>;
  nodeTokens: Map<string, number>;
  taken: Set<string>;
  notTaken: Set<string>;
  selected: string | null;
  mode: CanvasMode;
  /** The whole active time of the nodes, for heat. */
  total: number;
  past: boolean;
  /** By node that holds the run now, since when. */
  since: Record<string, string>;
  /** By node, a few words that stand at its foot. */
  notes: Record<string, string>;
}

export const EMPTY_VIEW: NetView = {
  states: {}, edgeTokens: new Map(), nodeTokens: new Map(), taken: new Set(), notTaken: new Set(), selected: null, mode: "tokens", total: 0, past: false, since: {}, notes: {},
};

export function netView(graph: Graph, selected: string | null, mode: CanvasMode, past: boolean, since: Record<string, string>, notes: Record<string, string> = {}): NetView {
  const edgeTokens = new Map<string, number>();
  const nodeTokens = new Map<string, number>();
  for (const token of graph.tokens) {
    if (token.edge) edgeTokens.set(token.edge, (edgeTokens.get(token.edge) ?? 0) + token.count);
    else if (token.node) nodeTokens.set(token.node, (nodeTokens.get(token.node) ?? 0) + token.count);
  }
  const total = Object.values(graph.states).reduce((sum, state) => sum + (state.tone === "held" ? 0 : (state.ms ?? 0)), 0);
  return { states: graph.states, edgeTokens, nodeTokens, taken: new Set(graph.taken), notTaken: new Set(graph.not_taken), selected, mode, total, past, since, notes };
}

/** At most this many tokens are animated at once; above, edges only change their stroke. */
const MOVING_MAX = 20;

export class NetStore {
  view: NetView = EMPTY_VIEW;
  /** By edge, the number of its latest animation: a new number animates another token. */
  flights = new Map<string, number>();
  private flight = 0;
  private readonly listeners = new Set<() => void>();

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  show(view: NetView, moving: boolean): void {
    const before = this.view;
    this.view = view;
    if (moving && before !== EMPTY_VIEW) {
      const fresh = [...view.taken].filter((edge) => !before.taken.has(edge) || (view.edgeTokens.get(edge) ?? 0) > (before.edgeTokens.get(edge) ?? 0));
      if (fresh.length > 0 && fresh.length <= MOVING_MAX) {
        for (const edge of fresh) this.flights.set(edge, ++this.flight);
        const last = this.flight;
        window.setTimeout(() => {
          for (const [edge, n] of this.flights) if (n <= last) this.flights.delete(edge);
          this.notify();
        }, 650);
      }
    }
    this.notify();
  }

  private notify(): void {
    this.listeners.forEach((listener) => listener());
  }
}

export const NetContext = createContext<NetStore>(new NetStore());

/** A part of the view; the component renders again only when it changes. */
export function useView<T extends string | number | boolean | null | undefined | NodeState>(pick: (view: NetView, store: NetStore) => T): T {
  const store = useContext(NetContext);
  return useSyncExternalStore(store.subscribe, () => pick(store.view, store));
}

/** Five steps of heat by the share of active time. */
export function heatOf(ms: number, total: number): 0 | 1 | 2 | 3 | 4 | 5 {
  if (total <= 0 || ms <= 0) return 0;
  const share = ms / total;
  return share > 0.5 ? 5 : share > 0.25 ? 4 : share > 0.1 ? 3 : share > 0.03 ? 2 : 1;
}
