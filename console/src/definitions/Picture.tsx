/** The picture of a definition: BPMN where it is a process, else its net; a way that shows what is wrong is played on it. */
import { ChevronLeft, ChevronRight, List, Waypoints, Workflow } from "lucide-react";
import { lazy, Suspense, useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import type { Graph, Inspected, Judged, NodeState } from "../api/types";
import { NetList } from "../net/NetList";
import { Button, Segment } from "../parts";
import { useNarrow } from "../parts/narrow";
import { useParam } from "../shell/router";
import { useWords } from "../words";

const Drawing = lazy(() => import("../bpmn/Drawing"));
const Canvas = lazy(() => import("../net/Canvas"));
const NOTHING = {};

interface Props {
  found: Inspected;
  /** The text is broken by now: this is how it was. */
  old: boolean;
  playing: Played | null;
  onPlay: (played: Played | null) => void;
  /** Of a definition that is there: how much waits at each element now. */
  counts?: Map<string, number>;
  /** What is new or changed against another version. */
  marks?: Map<string, "added" | "changed">;
  selected: string | null;
  onPick: (node: string | null) => void;
}

/** A way that is played: which one, after how many steps, and whether by hand. */
export interface Played {
  level: number;
  step: number;
  hand: boolean;
}

export type Look = "bpmn" | "net" | "list";

export function Picture({ found, old, playing, onPlay, counts, marks, selected, onPick }: Props): ReactNode {
  const { t } = useWords();
  const phone = useNarrow();
  const [view, setView] = useParam("view");
  const [broken, setBroken] = useState<Look | null>(null);
  const way = playing ? (found.soundness[playing.level] ?? null) : null;
  const step = useSteps(way, playing, onPlay);
  const graph = useMemo(() => found.graph && (way && step.at > 0 ? moment(found.graph, way, step.at) : !way && counts?.size ? waiting(found.graph, counts) : found.graph), [found.graph, way, step.at, counts]);
  if (!graph) return null;
  const first: Look = found.bpmn && broken !== "bpmn" ? "bpmn" : "net";
  const asked = (["bpmn", "net", "list"] as const).find((one) => one === view);
  const look: Look = phone || broken === "net" ? "list" : asked && (asked !== "bpmn" || found.bpmn) ? asked : first;
  return (
    <div className={`def-picture ${old ? "def-old" : ""}`}>
      <div className="run-tools">
        {!phone && <Looks look={look} bpmn={!!found.bpmn} onLook={(next) => setView(next === first ? null : next)} />}
        {old && <p className="def-old-said" role="status">{t.definitions.old}</p>}
      </div>
      {look === "list" ? <NetList graph={graph} selected={selected} onPick={onPick} plain={!way} marks={marks} />
        : <Suspense fallback={null}>
          {look === "bpmn" && found.bpmn ? <Drawing xml={found.bpmn} graph={graph} marks={marks} mode="tokens" selected={selected} since={NOTHING} onPick={onPick} onFail={() => setBroken("bpmn")} />
            : <Canvas graph={graph} mode="tokens" selected={selected} past={false} since={NOTHING} viewport={null} onPick={onPick} onFail={() => setBroken("net")} />}
        </Suspense>}
      {way && way.steps.length > 0 && (
        <div className="def-way" role="group" aria-label={t.definitions.wayTitle}>
          <Button look="icon" aria-label={t.definitions.stepBack} disabled={step.at <= 0} onClick={() => step.go(step.at - 1)}><ChevronLeft size={17} aria-hidden /></Button>
          <span role="status">{t.definitions.step(step.at, way.steps.length)} <b>{step.at > 0 ? said(way.steps[step.at - 1]?.label, t.definitions.begin) : ""}</b></span>
          <Button look="icon" aria-label={t.definitions.stepOn} disabled={step.at >= way.steps.length} onClick={() => step.go(step.at + 1)}><ChevronRight size={17} aria-hidden /></Button>
        </div>
      )}
    </div>
  );
}

const said = (label: string | undefined, begin: string): string => (!label || label.startsWith(".") ? begin : label);

export function Looks({ look, bpmn, onLook }: { look: Look; bpmn: boolean; onLook: (look: Look) => void }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  return <Segment<Look> label={d.looks} value={look} onChange={onLook} options={[...(bpmn ? [{ id: "bpmn" as const, text: "BPMN", icon: Workflow }] : []), { id: "net", text: d.net, icon: Waypoints }, { id: "list", text: d.list, icon: List }]} />;
}

/** Played step by step, and by hand. */
function useSteps(way: Judged | null, playing: Played | null, onPlay: (played: Played) => void): { at: number; go: (at: number) => void } {
  const tell = useRef(onPlay);
  tell.current = onPlay;
  useEffect(() => {
    if (!way || !playing || playing.hand || playing.step >= way.steps.length) return;
    const timer = window.setTimeout(() => tell.current({ ...playing, step: playing.step + 1 }), 700);
    return () => window.clearTimeout(timer);
  }, [way, playing]);
  return { at: playing?.step ?? 0, go: (step) => playing && onPlay({ ...playing, step, hand: true }) };
}

const DONE: NodeState = { state: "SUCCEEDED", status: "SUCCEEDED", tone: "done", count: 1, attempt: 1, ms: null, note: null };
const STUCK: NodeState = { ...DONE, state: "FAILED", status: "FAILED", tone: "failed" };

/** What runs of it now, as tokens with their number. */
function waiting(graph: Graph, counts: Map<string, number>): Graph {
  return { ...graph, tokens: [...counts].map(([node, count]) => ({ edge: null, node, count, epochs: [] })) };
}

/** How the net stands after a step of the way. */
function moment(graph: Graph, way: Judged, at: number): Graph {
  const gone = way.steps.slice(0, at);
  const states: Graph["states"] = Object.fromEntries(gone.map((one) => [one.node, DONE]));
  for (const node of way.dead) states[node] = STUCK;
  const tokens = gone.at(-1)?.tokens ?? {};
  if (at === way.steps.length) for (const edge of graph.edges) if (tokens[edge.id]) states[edge.to] = STUCK;
  const taken = new Set(gone.flatMap((one) => Object.keys(one.tokens)));
  return { ...graph, states, taken: [...taken], tokens: Object.entries(tokens).map(([edge, count]) => ({ edge, node: null, count, epochs: [] })) };
}
