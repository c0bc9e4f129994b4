/** The net as a list: the same nodes and states as a tree, for screen readers and phones. */
import type { ReactNode } from "react";
import type { Graph, GraphNode } from "../api/types";
import { Badge } from "../parts";
import { useWords } from "../words";
import { nodeIcon } from "./icons";

/** `plain`: without a run, so nothing is said of how a node stands. */
export function NetList({ graph, selected, onPick, plain = false }: { graph: Graph; selected: string | null; onPick: (node: string) => void; plain?: boolean }): ReactNode {
  const { t } = useWords();
  return <div className={`net-list ${plain ? "net-plain" : ""}`}><Branch graph={graph} parent={null} selected={selected} onPick={onPick} label={t.run.listOf} /></div>;
}

function Branch({ graph, parent, selected, onPick, label }: { graph: Graph; parent: string | null; selected: string | null; onPick: (node: string) => void; label?: string }): ReactNode {
  const nodes = graph.nodes.filter((node) => node.parent === parent && !node.label.startsWith(".")); // what no author has drawn
  if (nodes.length === 0) return null;
  return <ol aria-label={label}>{nodes.map((node) => <Step key={node.id} node={node} graph={graph} selected={selected} onPick={onPick} />)}</ol>;
}

function Step({ node, graph, selected, onPick }: { node: GraphNode; graph: Graph; selected: string | null; onPick: (node: string) => void }): ReactNode {
  const { t, f, typeWord, nodeWord } = useWords();
  const state = graph.states[node.id];
  const reached = !!state && (state.count > 0 || state.tone !== "idle");
  const into = graph.edges.filter((edge) => edge.to === node.id);
  const not = !reached && into.length > 0 && into.every((edge) => graph.not_taken.includes(edge.id));
  const Icon = nodeIcon(node.icon, node.type, node.shape);
  return (
    <li>
      <button type="button" className={`net-step ${reached ? "" : "net-step-open"}`} aria-pressed={selected === node.id} onClick={() => onPick(node.id)}>
        <Icon size={16} strokeWidth={1.9} aria-hidden />
        <span className="grow"><b>{node.label}</b><span className="dim">{typeWord(graph.language, node.type)}{state?.note ? ` · ${state.note}` : ""}</span></span>
        {reached && state.ms !== null && <span className="dim num">{f.duration(state.ms)}</span>}
        {reached ? <Badge tone={state.tone} state={state.state}>{nodeWord(graph.language, state.status, state.state)}</Badge> : <span className="dim3 net-step-said">{not ? t.run.notTaken : t.run.notReached}</span>}
      </button>
      <Branch graph={graph} parent={node.id} selected={selected} onPick={onPick} />
    </li>
  );
}
