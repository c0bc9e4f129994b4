/** The picture of a definition: BPMN where it is a process, else its net; a way that shows what is wrong is played on it. */
import { ChevronLeft, ChevronRight, List, Waypoints, Workflow } from "lucide-react";
import { lazy, Suspense, useEffect, useMemo, useState, type ReactNode } from "react";
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
  way: Judged | null;
  selected: string | null;
  onPick: (node: string | null) => void;
}

export type Look = "bpmn" | "net" | "list";

export function Picture({ found, old, way, selected, onPick }: Props): ReactNode {
  const { t } = useWords();
  const phone = useNarrow();
  const [view, setView] = useParam("view");
  const [broken, setBroken] = useState<Look | null>(null);
  const step = useSteps(way);
  const graph = useMemo(() => found.graph && (way && step.at > 0 ? moment(found.graph, way, step.at) : found.graph), [found.graph, way, step.at]);
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
      {look === "list" ? <NetList graph={graph} selected={selected} onPick={onPick} plain={!way} />
        : <Suspense fallback={null}>
          {look === "bpmn" && found.bpmn ? <Drawing xml={found.bpmn} graph={graph} mode="tokens" selected={selected} since={NOTHING} onPick={onPick} onFail={() => setBroken("bpmn")} />
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
function useSteps(way: Judged | null): { at: number; go: (at: number) => void } {
  const [at, setAt] = useState(0);
  const [hand, setHand] = useState(false);
  useEffect(() => { setAt(0); setHand(false); }, [way]);
  useEffect(() => {
    if (!way || hand || at >= way.steps.length) return;
    const timer = window.setTimeout(() => setAt(at + 1), 700);
    return () => window.clearTimeout(timer);
  }, [way, at, hand]);
  return { at, go: (next) => { setHand(true); setAt(next); } };
}

const DONE: NodeState = { state: "SUCCEEDED", status: "SUCCEEDED", tone: "done", count: 1, attempt: 1, ms: null, note: null };
const STUCK: NodeState = { ...DONE, state: "FAILED", status: "FAILED", tone: "failed" };

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
