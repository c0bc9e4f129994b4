/** The net as a list: the same nodes and states as a tree, for screen readers and phones. */
import { useMemo, type ReactNode } from "react";
import { Pencil, Plus } from "lucide-react";
import type { Graph, GraphNode } from "../api/types";
import { Badge } from "../components";
import { useWords } from "../words";
import { nodeIcon } from "./icons";
import { labelOf } from "./label";

type Marks = Map<string, "added" | "changed">;

/** `plain`: without a run, so nodes have no status. */
export function NetList({ graph, selected, onPick, plain = false, marks }: { graph: Graph; selected: string | null; onPick: (node: string) => void; plain?: boolean; marks?: Marks }): ReactNode {
  const { t } = useWords();
  // eslint-disable-next-line react-hooks/exhaustive-deps -- the net is the same as long as its hash is
  const order = useMemo(() => along(graph).map((node) => node.id), [graph.hash]);
  const sorted = useMemo(() => ({ ...graph, nodes: order.flatMap((id) => graph.nodes.find((node) => node.id === id) ?? []) }), [graph, order]);
  return <div className={`net-list ${plain ? "net-plain" : ""}`}><Branch graph={sorted} parent={null} selected={selected} onPick={onPick} label={t.run.listOf} marks={marks} /></div>;
}

/** Nodes in the order of the flow instead of the document's; back edges are not followed. */
function along(graph: Graph): Graph["nodes"] {
  const place = new Map<string, number>();
  const starts = graph.nodes.filter((node) => !graph.edges.some((edge) => edge.to === node.id && edge.from !== node.id && !edge.back));
  const rest = [...starts.map((node) => node.id)];
  const left = new Map(graph.nodes.map((node) => [node.id, new Set(graph.edges.filter((edge) => edge.to === node.id && edge.from !== node.id && !edge.back).map((edge) => edge.from)).size]));
  while (place.size < graph.nodes.length) {
    const next = rest.shift() ?? graph.nodes.find((node) => !place.has(node.id))?.id; // a cycle without a start
    if (next === undefined) break;
    if (place.has(next)) continue;
    place.set(next, place.size);
    for (const to of new Set(graph.edges.filter((edge) => edge.from === next && edge.to !== next && !edge.back).map((edge) => edge.to))) {
      const open = (left.get(to) ?? 1) - 1;
      left.set(to, open);
      if (open <= 0) rest.push(to);
    }
  }
  return [...graph.nodes].sort((a, b) => (place.get(a.id) ?? 0) - (place.get(b.id) ?? 0));
}

function Branch({ graph, parent, selected, onPick, label, marks }: { graph: Graph; parent: string | null; selected: string | null; onPick: (node: string) => void; label?: string; marks?: Marks }): ReactNode {
  const nodes = graph.nodes.filter((node) => node.parent === parent && !node.label.startsWith(".")); // added by the engine
  if (nodes.length === 0) return null;
  return <ol aria-label={label}>{nodes.map((node) => <Step key={node.id} node={node} graph={graph} selected={selected} onPick={onPick} marks={marks} />)}</ol>;
}

function Step({ node, graph, selected, onPick, marks }: { node: GraphNode; graph: Graph; selected: string | null; onPick: (node: string) => void; marks?: Marks }): ReactNode {
  const { t, f, typeWord, nodeWord } = useWords();
  const state = graph.states[node.id];
  const reached = !!state && (state.count > 0 || state.tone !== "idle");
  const change = marks?.get(node.id);
  const here = graph.tokens.reduce((sum, token) => sum + (token.node === node.id ? token.count : 0), 0);
  const into = graph.edges.filter((edge) => edge.to === node.id);
  const not = !reached && into.length > 0 && into.every((edge) => graph.not_taken.includes(edge.id));
  const Icon = nodeIcon(graph.language, node);
  return (
    <li>
      <button type="button" className={`net-step ${reached ? "" : "net-step-open"}`} data-node={node.id} aria-pressed={selected === node.id} onClick={() => onPick(node.id)}>
        <Icon size={16} strokeWidth={1.9} aria-hidden />
        <span className="grow"><b>{node.id === ".start" ? t.definitions.begin : labelOf(node, typeWord(graph.language, node.type))}</b><span className="dim">{typeWord(graph.language, node.type)}{state?.note ? ` · ${state.note}` : ""}</span></span>
        {change && <Badge tone={change === "added" ? "done" : "held"} icon={change === "added" ? Plus : Pencil}>{t.definitions.change[change]}</Badge>}
        {here > 0 && graph.of === 0 && <span className="def-here">{t.inspect.nowN(f.number(here), false)}</span>}
        {reached && state.ms !== null && <span className="dim num">{f.duration(state.ms)}</span>}
        {reached ? <Badge tone={state.tone} state={state.state}>{nodeWord(graph.language, state.status, state.state)}</Badge> : <span className="dim3 net-step-said">{not ? t.run.notTaken : t.run.notReached}</span>}
      </button>
      <Branch graph={graph} parent={node.id} selected={selected} onPick={onPick} marks={marks} />
    </li>
  );
}
