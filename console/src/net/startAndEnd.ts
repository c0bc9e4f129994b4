/** Adds start and end circles to the drawing of a document that has none. */
import type { Graph, GraphEdge, GraphNode, NodeState } from "../api/types";

const MARK = "·";
/** Only drawn: it cannot be selected, and lists leave it out. */
export const isMark = (id: string): boolean => id.startsWith(MARK);

const REACHED: NodeState = { state: "SUCCEEDED", status: "SUCCEEDED", tone: "done", count: 1, attempt: 1, ms: null, note: null };

export function withStartAndEnd(given: Graph): Graph {
  // a compensation is part of its node: it has no edge to draw
  const graph = given.edges.some((edge) => edge.from === edge.to && edge.port === "undo") ? { ...given, edges: given.edges.filter((edge) => edge.from !== edge.to || edge.port !== "undo") } : given;
  if (graph.nodes.length === 0 || graph.nodes.some((node) => node.shape === "start")) return graph;
  const top = graph.nodes.filter((node) => node.parent === null && node.shape !== "undo");
  const first = top.filter((node) => !graph.edges.some((edge) => edge.to === node.id && !edge.back));
  const last = top.filter((node) => node.shape !== "end" && !graph.edges.some((edge) => edge.from === node.id && !edge.back));
  const reached = (id: string) => { const state = graph.states[id]; return !!state && (state.count > 0 || state.tone !== "idle"); };
  const out: Graph = { ...graph, nodes: [...graph.nodes], edges: [...graph.edges], states: { ...graph.states }, taken: [...graph.taken], not_taken: [...graph.not_taken] };
  const begin = `${MARK}start`;
  if (first.length > 0) out.nodes.push(circle(begin, "start"));
  for (const node of first) {
    out.edges.push(way(begin, node.id));
    if (reached(node.id)) out.taken.push(way(begin, node.id).id);
    if (reached(node.id)) out.states[begin] = REACHED;
  }
  for (const node of last) {
    const end = `${MARK}end ${node.id}`;
    const edge = way(node.id, end);
    out.nodes.push(circle(end, "end"));
    out.edges.push(edge);
    const into = graph.edges.filter((edge) => edge.to === node.id && !edge.back);
    if (graph.states[node.id]?.tone === "done") { out.taken.push(edge.id); out.states[end] = REACHED; }
    else if (into.length > 0 && into.every((edge) => graph.not_taken.includes(edge.id))) out.not_taken.push(edge.id);
  }
  return out;
}

const circle = (id: string, shape: "start" | "end"): GraphNode => ({ id, label: "", kind: shape, shape, type: shape.toUpperCase(), parent: null, icon: shape === "start" ? "calendar-clock" : "" });
const way = (from: string, to: string): GraphEdge => ({ id: `${MARK}${from}>${to}`, from, to, port: "", label: null, back: false, skip: false });
