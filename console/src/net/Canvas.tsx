/** The net canvas: the layout with the tokens of the moment. Loaded only where a net is shown. */
import "@xyflow/react/dist/base.css";
import "./net.css";
import { ReactFlow, ReactFlowProvider, Background, BackgroundVariant, useReactFlow, useStore, type Viewport } from "@xyflow/react";
import { Maximize, Minus, Plus } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import type { Graph } from "../api/types";
import { useKeys } from "../shell/keys";
import { setSearch } from "../shell/router";
import { useWords } from "../words";
import { NetEdgeView, type NetEdge } from "./edges";
import { withStartAndEnd } from "./startAndEnd";
import { layout, warm, within, type Laid } from "./layout";
import { NetNodeView, type NetNode } from "./nodes";
import { NetContext, NetStore, netView, type CanvasMode } from "./view";

const NODES = { net: NetNodeView };
const EDGES = { net: NetEdgeView };
warm();

const FIT = { padding: 0.06, maxZoom: 1, minZoom: 0.2 };

interface Props {
  graph: Graph;
  mode: CanvasMode;
  selected: string | null;
  past: boolean;
  since: Record<string, string>;
  notes?: Record<string, string>;
  viewport: Viewport | null;
  onPick: (node: string | null) => void;
  onFail: () => void;
}

export default function Canvas(props: Props): ReactNode {
  return <ReactFlowProvider><Inner {...props} /></ReactFlowProvider>;
}

function Inner({ graph: given, mode, selected, past, since, notes, viewport, onPick, onFail }: Props): ReactNode {
  const { t } = useWords();
  const graph = useMemo(() => withStartAndEnd(given), [given]);
  const [laid, setLaid] = useState<Laid | null>(null);
  const [store] = useState(() => new NetStore());
  const flow = useReactFlow();
  const calm = useMemo(() => matchMedia("(prefers-reduced-motion: reduce)").matches, []);
  const pick = useRef(onPick);
  pick.current = onPick;

  useEffect(() => {
    let gone = false;
    layout(graph).then((done) => !gone && setLaid(done), () => !gone && onFail());
    return () => { gone = true; };
    // the net is the same as long as its hash is
    // eslint-disable-next-line
  }, [graph.hash]);

  useEffect(() => store.show(netView(graph, selected, mode, past, since, notes), !calm && !past), [store, graph, selected, mode, past, since, notes, calm]);

  const move = useCallback((id: string, key: string) => {
    const forward = key === "ArrowRight" || key === "ArrowDown";
    const next = given.edges.find((edge) => (forward ? edge.from === id && !edge.back : edge.to === id && !edge.back));
    const to = next && (forward ? next.to : next.from);
    if (to) document.querySelector<HTMLElement>(`[data-node="${CSS.escape(to)}"]`)?.focus();
  }, [given.edges]);

  const nodes = useMemo<NetNode[]>(() => {
    if (!laid) return [];
    const frames = new Set(graph.nodes.map((node) => node.parent).filter((parent) => parent !== null));
    return graph.nodes.flatMap((node) => {
      const box = laid.nodes.get(node.id);
      if (!box) return [];
      const frame = frames.has(node.id);
      return [{
        id: node.id, type: "net" as const, position: { x: box.x, y: box.y }, width: box.w, height: box.h, zIndex: frame ? -1 : 1,
        data: { node, language: graph.language, w: box.w, h: box.h, frame, inside: frame ? graph.nodes.filter(({ parent }) => parent === node.id).map(({ id }) => id) : [], onPick: (id: string) => pick.current(id), onMove: move },
      }];
    });
    // eslint-disable-next-line
  }, [laid, graph.hash, graph.language, move]);

  const edges = useMemo<NetEdge[]>(() => {
    if (!laid) return [];
    return graph.edges.filter((edge) => !within(graph, edge)).flatMap((edge) => {
      const drawn = laid.edges.get(edge.id);
      return drawn ? [{ id: edge.id, type: "net" as const, source: edge.from, target: edge.to, focusable: false, data: { points: drawn.points, label: edge.label, box: drawn.label } }] : [];
    });
    // eslint-disable-next-line
  }, [laid, graph.hash]);

  const fit = useCallback(() => void flow.fitView({ ...FIT, duration: calm ? 0 : 200 }), [flow, calm]);
  useKeys({ f: fit });

  // zoomed out, nodes are plain plates: their texts cannot be read, and cost
  const far = useStore((state) => state.transform[2] < 0.45) && nodes.length > 60;
  const shown = nodes.length > 0;
  const wrap = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!shown || !wrap.current) return;
    let last = 0;
    // a panel that opens or a window that grows must not push the net out of sight
    const observer = new ResizeObserver(([entry]) => {
      const width = entry?.contentRect.width ?? 0;
      if (last && Math.abs(width - last) > 40) void flow.fitView(FIT);
      last = width;
    });
    observer.observe(wrap.current);
    return () => observer.disconnect();
  }, [shown, flow]);

  return (
    <NetContext.Provider value={store}>
      <div className={`net ${far ? "net-far" : ""}`} ref={wrap} role="group" aria-label={t.run.canvas}>
        {shown && (
          <ReactFlow<NetNode, NetEdge>
            nodes={nodes} edges={edges} nodeTypes={NODES} edgeTypes={EDGES}
            defaultViewport={viewport ?? undefined} fitView={!viewport} fitViewOptions={FIT} minZoom={0.08} maxZoom={2} onlyRenderVisibleElements={nodes.length > 300}
            nodesDraggable={false} nodesConnectable={false} nodesFocusable={false} edgesFocusable={false} elementsSelectable={false}
            zoomOnDoubleClick={false} deleteKeyCode={null} selectionKeyCode={null} disableKeyboardA11y
            onPaneClick={() => onPick(null)} proOptions={{ hideAttribution: true }}
            onMoveEnd={(event, { x, y, zoom }) => event && setSearch({ z: [x.toFixed(0), y.toFixed(0), zoom.toFixed(2)].join(",") })}
          >
            <Background variant={BackgroundVariant.Dots} gap={20} size={1.4} color="var(--dot)" />
            <Zoom onFit={fit} />
            {laid && <Minimap laid={laid} graph={graph} />}
          </ReactFlow>
        )}
      </div>
    </NetContext.Provider>
  );
}

function Zoom({ onFit }: { onFit: () => void }): ReactNode {
  const { t } = useWords();
  const flow = useReactFlow();
  const zoom = useStore((state) => state.transform[2]);
  return (
    <>
      <div className="net-zoom">
        <button type="button" aria-label={t.run.zoomOut} onClick={() => void flow.zoomOut()}><Minus size={14} aria-hidden /></button>
        <span>{Math.round(zoom * 100)}%</span>
        <button type="button" aria-label={t.run.zoomIn} onClick={() => void flow.zoomIn()}><Plus size={14} aria-hidden /></button>
      </div>
      <button type="button" className="btn net-fit" aria-label={t.run.fit} title={`${t.run.fit} (f)`} onClick={onFit}><Maximize size={15} aria-hidden /></button>
    </>
  );
}

const MINI = { w: 136, h: 68 };

function Minimap({ laid, graph }: { laid: Laid; graph: Graph }): ReactNode {
  const { t } = useWords();
  const flow = useReactFlow();
  const [tx, ty, zoom] = useStore((state) => state.transform);
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const scale = Math.min(MINI.w / (laid.w || 1), MINI.h / (laid.h || 1));
  const [dx, dy] = [(MINI.w - laid.w * scale) / 2, (MINI.h - laid.h * scale) / 2];
  const frames = new Set(graph.nodes.map((node) => node.parent));
  const view = { x: Math.max(-6, (-tx / zoom) * scale + dx), y: Math.max(-6, (-ty / zoom) * scale + dy), w: (width / zoom) * scale, h: (height / zoom) * scale };
  return (
    <svg className="net-mini" viewBox={`-6 -6 ${MINI.w + 12} ${MINI.h + 12}`} role="img" aria-label={t.run.minimap}
      onClick={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        const k = (MINI.w + 12) / box.width;
        void flow.setCenter(((event.clientX - box.left) * k - 6 - dx) / scale, ((event.clientY - box.top) * k - 6 - dy) / scale, { zoom, duration: 200 });
      }}>
      {graph.nodes.filter((node) => !frames.has(node.id)).map((node) => {
        const box = laid.nodes.get(node.id);
        const state = graph.states[node.id];
        return box && <rect key={node.id} className={`tone-${state && (state.count > 0 || state.tone !== "idle") ? state.tone : "idle"} ${state?.count ? "" : "mini-open"}`} x={box.x * scale + dx} y={box.y * scale + dy} width={Math.max(3, box.w * scale)} height={Math.max(3, box.h * scale)} rx="1" />;
      })}
      <rect className="mini-view" x={view.x} y={view.y} width={Math.min(view.w, MINI.w + 6 - view.x)} height={Math.min(view.h, MINI.h + 6 - view.y)} rx="3" />
    </svg>
  );
}
