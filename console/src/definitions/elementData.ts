/** One element of a document of any language: what is written there, and the ways that lead to it and from it. */
import { isDict } from "../api/json";
import type { Dict, Graph, GraphEdge, Json } from "../api/types";

export interface Way {
  id: string;
  /** The element at its other end. */
  other: string;
  label: string;
  name: string;
  condition: string | null;
  /** Taken when no condition holds. */
  otherwise: boolean;
}

type Wording = Pick<Way, "name"> & Partial<Pick<Way, "condition" | "otherwise">>;

/** `word` tells what the document says about an edge. */
export function waysOf(graph: Graph, id: string, word: (edge: GraphEdge) => Wording = (edge) => ({ name: edge.label ?? "" })): { into: Way[]; out: Way[] } {
  const labelOf = (node: string): string => graph.nodes.find((candidate) => candidate.id === node)?.label ?? node;
  const drawn = graph.edges.filter((edge) => !edge.skip && edge.from !== edge.to && edge.port !== "undo" && !labelOf(edge.from).startsWith("."));
  const way = (edge: GraphEdge, other: string): Way => ({ condition: null, otherwise: false, ...word(edge), id: edge.id, other, label: labelOf(other) });
  return {
    into: drawn.filter((edge) => edge.to === id).map((edge) => way(edge, edge.from)),
    out: drawn.filter((edge) => edge.from === id).map((edge) => way(edge, edge.to)),
  };
}

const DEEPEST = 6;

/** What a document says about an element, wherever it is nested. */
export function dataOf(value: Json | undefined, id: string, depth = DEEPEST): Dict | null {
  if (depth === 0 || value === null || typeof value !== "object") return null;
  if (isDict(value) && (value["id"] === id || value["label"] === id)) return value;
  for (const inner of Array.isArray(value) ? value : Object.values(value)) {
    const data = dataOf(inner, id, depth - 1);
    if (data) return data;
  }
  return null;
}
