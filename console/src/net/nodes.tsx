/** Nodes: the silhouette shows the kind, border and badge the status. */
import { RadioTower } from "lucide-react";
import { Handle, Position, type NodeProps, type Node } from "@xyflow/react";
import { memo, type KeyboardEvent, type ReactNode } from "react";
import type { GraphNode, NodeState } from "../api/types";
import { toneIcon } from "../components";
import { useNow, useWords } from "../words";
import { isMark } from "./startAndEnd";
import { nodeIcon } from "./icons";
import { labelOf } from "./label";
import { heatOf, useView, type CanvasMode } from "./view";

export interface NetNodeData extends Record<string, unknown> {
  node: GraphNode;
  language: string;
  w: number;
  h: number;
  frame: boolean;
  /** What is inside a frame. */
  inside: string[];
  onPick: (id: string) => void;
  onMove: (id: string, key: string) => void;
}

export type NetNode = Node<NetNodeData, "net">;

export const NetNodeView = memo(function NetNodeView({ data }: NodeProps<NetNode>): ReactNode {
  const { node, w, h, frame } = data;
  const { f, typeWord, nodeWord, t } = useWords();
  const state = useView((view) => view.states[node.id]);
  const selected = useView((view) => view.selected === node.id);
  const tokens = useView((view) => view.nodeTokens.get(node.id) ?? 0);
  const done = useView((view) => data.inside.filter((id) => view.states[id]?.tone === "done").length) as number;
  const mode = useView((view) => view.mode) as CanvasMode;
  const total = useView((view) => view.total) as number;
  const since = useView((view) => view.since[node.id]) as string | undefined;
  const note = useView((view) => view.notes[node.id]) as string | undefined;
  const reached = !!state && (state.count > 0 || state.tone !== "idle");
  const tone = reached ? (state as NodeState).tone : "idle";
  const heat = mode === "time" && state ? heatOf(state.tone === "held" ? 0 : (state.ms ?? 0), total) : 0;
  const type = typeWord(data.language, node.type);
  const sub = subLine(state, type, mode, { f, t });
  const Icon = nodeIcon(data.language, node);
  const Corner = toneIcon(tone, state?.state);
  const status = state && reached ? nodeWord(data.language, state.status, state.state) : t.run.notReached;
  const round = node.shape === "start" || node.shape === "end";
  const bar = node.shape === "fork" || node.shape === "join";
  const key = (event: KeyboardEvent) => {
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    event.stopPropagation();
    data.onMove(node.id, event.key);
  };
  return (
    <div className={`net-node shape-${frame ? "region" : node.shape} tone-${tone} ${reached ? "" : "unreached"} ${selected ? "selected" : ""} ${heat ? `heat heat-${heat}` : ""}`} style={{ width: w, height: h }}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      {node.shape === "choose" && !frame && <Hexagon w={w} h={h} />}
      {isMark(node.id) ? <span className="net-hit" aria-hidden><Icon size={13} strokeWidth={2} aria-hidden /></span> : <button type="button" className="net-hit" data-node={node.id} aria-pressed={selected} onClick={() => data.onPick(node.id)} onKeyDown={key}>
        {frame ? (
          <span className="net-frame-head"><Icon size={13} strokeWidth={2} aria-hidden /><b>{labelOf(node, type)}</b><span>{reached && data.inside.length > 0 ? t.run.doneOf(done, data.inside.length) : node.label === labelOf(node, type) ? type : ""}</span></span>
        ) : round ? (
          <><Icon size={13} strokeWidth={2} aria-hidden /><span className="sr">{node.label}</span></>
        ) : bar ? <span className="sr">{node.label}</span> : (
          <>
            <Icon size={16} strokeWidth={1.9} aria-hidden />
            <span className="net-text"><b>{node.label}</b><span>{since && mode === "tokens" ? <Held type={type} since={since} /> : sub}</span></span>
          </>
        )}
        <span className="sr">, {status}</span>
      </button>}
      {reached && !frame && !round && mode === "tokens" && <span className="net-corner" aria-hidden><Corner size={11} strokeWidth={3} /></span>}
      {note && <span className="net-note"><RadioTower size={11} aria-hidden />{note}</span>}
      {mode === "counts" && !!state?.count && !round && <span className="net-count" aria-hidden>{state.count}</span>}
      {tokens > 0 && <span className="net-token" aria-hidden>{tokens > 1 ? tokens : ""}</span>}
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
});

function subLine(state: NodeState | undefined, type: string, mode: CanvasMode, { f, t }: Pick<ReturnType<typeof useWords>, "f" | "t">): string {
  if (!state || (state.count === 0 && state.tone === "idle")) return type;
  if (mode === "counts") return `${type} · ${t.run.times(state.count)}${state.attempt > 1 ? ` · ${t.run.attemptN(state.attempt)}` : ""}`;
  if (mode === "time") return state.ms !== null ? f.duration(state.ms) : type;
  if (state.note) return `${type} · ${state.note}`;
  return state.ms !== null && state.ms > 0 ? `${type} · ${f.duration(state.ms)}` : type;
}

function Held({ type, since }: { type: string; since: string }): ReactNode {
  const { t, f } = useWords();
  const now = useNow(1000);
  return <>{type} · {t.why.since(f.duration(now - Date.parse(since), 1))}</>;
}

function Hexagon({ w, h }: { w: number; h: number }): ReactNode {
  const cut = 15;
  const points = [[cut, 1], [w - cut, 1], [w - 1, h / 2], [w - cut, h - 1], [cut, h - 1], [1, h / 2]].map(([x, y]) => `${x},${y}`).join(" ");
  return <svg className="net-hex" width={w} height={h} aria-hidden><polygon points={points} /></svg>;
}
