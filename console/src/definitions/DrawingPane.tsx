/** The drawing of a definition: the author's own, the net or a list. A counterexample of soundness is played on it. */
import { ChevronLeft, ChevronRight } from "lucide-react";
import { lazy, Suspense, useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import type { Graph, Inspected, Judged, NodeState } from "../api/types";
import { Button } from "../components";
import { useNarrow } from "../components/useNarrow";
import { languageOf } from "../languages";
import { NetList } from "../net/NetList";
import { ViewSwitch, type DrawingView } from "../net/ViewSwitch";
import { useParam } from "../shell/router";
import { useWords } from "../words";

const Canvas = lazy(() => import("../net/Canvas"));
const NOTHING = {};

interface Props {
  inspected: Inspected;
  /** The text is broken by now: this is how it was. */
  old: boolean;
  playback: Playback | null;
  onPlay: (playback: Playback | null) => void;
  /** Of a definition that is released: how much waits at each element now. */
  counts?: Map<string, number>;
  /** What is new or changed against another version. */
  marks?: Map<string, "added" | "changed">;
  selected: string | null;
  onPick: (node: string | null) => void;
}

/** The counterexample that is played: which one, after how many steps, and whether by hand. */
export interface Playback {
  level: number;
  step: number;
  manual: boolean;
}

export function DrawingPane({ inspected, old, playback, onPlay, counts, marks, selected, onPick }: Props): ReactNode {
  const { t } = useWords();
  const phone = useNarrow();
  const [wanted, setView] = useParam("view");
  const [failed, setFailed] = useState<DrawingView | null>(null);
  const example = playback ? (inspected.soundness[playback.level] ?? null) : null;
  const step = usePlayback(example, playback, onPlay);
  const graph = useMemo(() => inspected.graph && (example && step.at > 0 ? afterStep(inspected.graph, example, step.at) : !example && counts?.size ? withWaiting(inspected.graph, counts) : inspected.graph), [inspected.graph, example, step.at, counts]);
  if (!graph) return null;
  const drawing = languageOf(inspected.language).drawing ?? null;
  const source = drawing?.ofInspected(inspected) ?? null;
  const drawn = drawing && source !== null ? drawing : null;
  const first: DrawingView = drawn && failed !== drawn.view ? drawn.view : "net";
  const known = wanted === "net" || wanted === "list" || (drawn && wanted === drawn.view) ? wanted : null;
  const view: DrawingView = phone || failed === "net" ? "list" : (known ?? first);
  return (
    <div className={`def-picture ${old ? "def-old" : ""}`}>
      <div className="run-tools">
        {!phone && <ViewSwitch view={view} drawing={drawn} onView={(next) => setView(next === first ? null : next)} />}
        {old && <p className="def-old-said" role="status">{t.definitions.old}</p>}
      </div>
      {view === "list" ? <NetList graph={graph} selected={selected} onPick={onPick} plain={!example} marks={marks} />
        : <Suspense fallback={null}>
          {drawn && view === drawn.view && source !== null ? <drawn.View source={source} graph={graph} marks={marks} mode="tokens" selected={selected} since={NOTHING} onPick={onPick} onFail={() => setFailed(drawn.view)} />
            : <Canvas graph={graph} mode="tokens" selected={selected} past={false} since={NOTHING} viewport={null} onPick={onPick} onFail={() => setFailed("net")} />}
        </Suspense>}
      {example && example.steps.length > 0 && (
        <div className="def-way" role="group" aria-label={t.definitions.wayTitle}>
          <Button look="icon" aria-label={t.definitions.stepBack} disabled={step.at <= 0} onClick={() => step.go(step.at - 1)}><ChevronLeft size={17} aria-hidden /></Button>
          <span role="status">{t.definitions.step(step.at, example.steps.length)} <b>{step.at > 0 ? labelOf(example.steps[step.at - 1]?.label, t.definitions.begin) : ""}</b></span>
          <Button look="icon" aria-label={t.definitions.stepOn} disabled={step.at >= example.steps.length} onClick={() => step.go(step.at + 1)}><ChevronRight size={17} aria-hidden /></Button>
        </div>
      )}
    </div>
  );
}

/** A node whose name begins with a dot was added by the engine: it is where the run begins. */
const labelOf = (label: string | undefined, begin: string): string => (!label || label.startsWith(".") ? begin : label);

/** Goes on by itself, until somebody steps by hand. */
function usePlayback(example: Judged | null, playback: Playback | null, onPlay: (playback: Playback) => void): { at: number; go: (at: number) => void } {
  const play = useRef(onPlay);
  play.current = onPlay;
  useEffect(() => {
    if (!example || !playback || playback.manual || playback.step >= example.steps.length) return;
    const timer = window.setTimeout(() => play.current({ ...playback, step: playback.step + 1 }), 700);
    return () => window.clearTimeout(timer);
  }, [example, playback]);
  return { at: playback?.step ?? 0, go: (step) => playback && onPlay({ ...playback, step, manual: true }) };
}

const DONE: NodeState = { state: "SUCCEEDED", status: "SUCCEEDED", tone: "done", count: 1, attempt: 1, ms: null, note: null };
const STUCK: NodeState = { ...DONE, state: "FAILED", status: "FAILED", tone: "failed" };

/** The graph with what waits now as tokens. */
function withWaiting(graph: Graph, counts: Map<string, number>): Graph {
  return { ...graph, tokens: [...counts].map(([node, count]) => ({ edge: null, node, count, epochs: [] })) };
}

/** The graph after a step of the counterexample. */
function afterStep(graph: Graph, example: Judged, at: number): Graph {
  const passed = example.steps.slice(0, at);
  const states: Graph["states"] = Object.fromEntries(passed.map((step) => [step.node, DONE]));
  for (const node of example.dead) states[node] = STUCK;
  const tokens = passed.at(-1)?.tokens ?? {};
  if (at === example.steps.length) for (const edge of graph.edges) if (tokens[edge.id]) states[edge.to] = STUCK;
  const taken = new Set(passed.flatMap((step) => Object.keys(step.tokens)));
  return { ...graph, states, taken: [...taken], tokens: Object.entries(tokens).map(([edge, count]) => ({ edge, node: null, count, epochs: [] })) };
}
