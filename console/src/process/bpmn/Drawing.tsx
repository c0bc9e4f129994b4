/** The author's BPMN drawing, rendered by bpmn-js, with tokens, states and times as overlays. */
import { Pencil, Plus } from "lucide-react";
import { memo, useCallback, useEffect, useMemo, type KeyboardEvent, type ReactNode } from "react";
import { createPortal } from "react-dom";
import type { Graph, NodeState } from "../../api/types";
import type { DrawingProps } from "../../languages/contract";
import { heatOf, type CanvasMode } from "../../net/view";
import { toneIcon } from "../../components";
import { useNow, useWords } from "../../words";
import { placesOf, type Place } from "./elements";
import { useViewer, ZoomTools } from "./viewer";

export default function Drawing({ source: xml, graph, mode, marks, selected, since, onPick, onFail }: DrawingProps): ReactNode {
  const { t } = useWords();
  const { wrap, drawn, zoom } = useViewer(xml, onFail, (element) => !element.parent && onPick(null));

  const places = useMemo(() => (drawn ? placesOf(drawn, graph) : null), [drawn, graph]);
  useEffect(() => {
    if (!drawn || !places) return;
    drawn.mark(classesOf(graph, places, mode));
  }, [drawn, graph, places, mode]);
  const move = useCallback((id: string, key: string) => {
    const forward = key === "ArrowRight" || key === "ArrowDown";
    const next = graph.edges.find((edge) => (forward ? edge.from === id && !edge.back : edge.to === id && !edge.back));
    const to = next && (forward ? next.to : next.from);
    if (to) wrap.current?.querySelector<HTMLElement>(`[data-node="${CSS.escape(to)}"]`)?.focus();
  }, [graph.edges]);
  const tokens = useMemo(() => {
    const counts = new Map<string, number>();
    for (const token of graph.tokens) {
      const at = token.edge ? `edge ${token.edge}` : `node ${token.node}`;
      counts.set(at, (counts.get(at) ?? 0) + token.count);
    }
    return counts;
  }, [graph.tokens]);
  return (
    <div className="net bpmn" role="group" aria-label={t.run.canvas}>
      <div className="bpmn-canvas" ref={wrap} aria-busy={!drawn} />
      {drawn && <ZoomTools drawn={drawn} zoom={zoom} />}
      {places?.nodes.map((place) => createPortal(
        <Mark place={place} change={marks?.get(place.id)} language={graph.language} state={graph.states[place.id]} tokens={tokens.get(`node ${place.id}`) ?? 0} plain={graph.of === 0} selected={selected === place.id} mode={mode} since={since[place.id]} onPick={onPick} onMove={move} />,
        place.box, place.id))}
      {places?.edges.map(({ id, box }) => {
        const count = tokens.get(`edge ${id}`) ?? 0;
        return count > 0 && createPortal(<span className="net-token bpmn-on-way" data-edge={id} aria-hidden>{count > 1 ? count : ""}</span>, box, id);
      })}
    </div>
  );
}

const reachedOf = (state: NodeState | undefined): state is NodeState => !!state && (state.count > 0 || state.tone !== "idle");
const heat = (state: NodeState | undefined, mode: CanvasMode, total: number): number => (mode === "time" && state ? heatOf(state.tone === "held" ? 0 : (state.ms ?? 0), total) : 0);

/** By element of the drawing, the class of its state; of an edge, whether it was taken. */
function classesOf(graph: Graph, places: { nodes: Place[]; edges: Place[] }, mode: CanvasMode): Map<string, string> {
  const classes = new Map<string, string>();
  const total = Object.values(graph.states).reduce((sum, state) => sum + (state.tone === "held" ? 0 : (state.ms ?? 0)), 0);
  for (const { id, element } of places.nodes) {
    const state = graph.states[id];
    const warm = heat(state, mode, total);
    if (warm || reachedOf(state)) classes.set(element, warm ? `bpmn-heat-${warm}` : `bpmn-${(state as NodeState).tone}`);
    else if (graph.of > 0) classes.set(element, "bpmn-unreached"); // without a run nothing can be reached
  }
  const taken = new Set(graph.taken);
  const not = new Set(graph.not_taken);
  for (const { id, element } of places.edges) if (taken.has(id)) classes.set(element, "bpmn-taken");
    else if (not.has(id)) classes.set(element, "bpmn-not");
  return classes;
}

interface MarkProps {
  place: Place;
  change: "added" | "changed" | undefined;
  language: string;
  state: NodeState | undefined;
  tokens: number;
  /** Without a run: it has no status. */
  plain: boolean;
  selected: boolean;
  mode: CanvasMode;
  since: string | undefined;
  onPick: (node: string | null) => void;
  onMove: (id: string, key: string) => void;
}

/** The overlay of an element: a button that selects it, its status and its tokens. */
const Mark = memo(function Mark({ place, change, language, state, tokens, plain, selected, mode, since, onPick, onMove }: MarkProps): ReactNode {
  const { t, f, nodeWord } = useWords();
  const reached = reachedOf(state);
  const tone = reached ? state.tone : "idle";
  const Corner = toneIcon(tone, state?.state);
  const status = reached ? nodeWord(language, state.status, state.state) : !plain ? t.run.notReached : tokens > 0 ? t.inspect.nowN(f.number(tokens), false) : "";
  const key = (event: KeyboardEvent) => {
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    event.stopPropagation();
    onMove(place.id, event.key);
  };
  const measure = mode === "counts" ? (state?.count ? t.run.times(state.count) : "") : mode === "time" ? (state?.ms ? f.duration(state.ms) : "") : "";
  return (
    <div className={`bpmn-mark tone-${tone} ${selected ? "selected" : ""}`}>
      <button type="button" className="bpmn-hit" data-node={place.id} data-state={reached ? state.status : undefined} aria-pressed={selected} onClick={() => onPick(place.id)} onKeyDown={key}><span className="sr">{place.label}{status && `, ${status}`}{change && `, ${t.definitions.change[change]}`}</span></button>
      {reached && mode === "tokens" && <span className="net-corner" aria-hidden><Corner size={11} strokeWidth={3} /></span>}
      {change && <span className={`net-corner tone-${change === "added" ? "done" : "held"}`} aria-hidden>{change === "added" ? <Plus size={11} strokeWidth={3} /> : <Pencil size={10} strokeWidth={2.6} />}</span>}
      {measure && <span className="bpmn-told" aria-hidden>{measure}</span>}
      {since && mode === "tokens" && !place.small && <span className="bpmn-told" aria-hidden><Held since={since} /></span>}
      {tokens > 0 && <span className={`net-token ${plain ? "net-count" : ""}`} aria-hidden>{plain ? f.number(tokens) : tokens > 1 ? tokens : ""}</span>}
    </div>
  );
});

function Held({ since }: { since: string }): ReactNode {
  const { t, f } = useWords();
  const now = useNow(1000);
  return t.why.since(f.duration(now - Date.parse(since), 1));
}
