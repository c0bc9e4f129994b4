/** The layout of nodes and edges: ELK layered in a worker, cached by the net's hash. */
import type { ElkExtendedEdge, ElkNode } from "elkjs/lib/elk-api";
import type { Graph, GraphEdge } from "../api/types";
import { isMark } from "./startAndEnd";
import { sizeOf, textWidth } from "./size";

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface Point {
  x: number;
  y: number;
}

export interface Laid {
  nodes: Map<string, Box>;
  edges: Map<string, { points: Point[]; label: Box | null }>;
  w: number;
  h: number;
}

const done = new Map<string, Promise<Laid>>();
let elk: Promise<{ layout: (graph: ElkNode) => Promise<ElkNode> }> | null = null;

const engine = () => {
  elk ??= Promise.all([import("elkjs/lib/elk-api.js"), import("elkjs/lib/elk-worker.min.js?url")]).then(
    ([{ default: Elk }, { default: workerUrl }]) => new Elk({ workerUrl }),
  );
  return elk;
};

/** Loads the layout engine before a net is there. */
export const warm = (): void => void engine().catch(() => undefined);

export function layout(graph: Graph): Promise<Laid> {
  const key = graph.hash;
  let laid = done.get(key);
  if (!laid) {
    laid = compute(graph);
    laid.catch(() => done.delete(key));
    done.set(key, laid);
    if (done.size > 40) done.delete(done.keys().next().value as string);
  }
  return laid;
}

async function compute(graph: Graph): Promise<Laid> {
  const down = /down|tb/i.test(graph.direction);
  const joined = new Set(graph.edges.filter((edge) => !within(graph, edge)).flatMap((edge) => [edge.from, edge.to]));
  const tree = (parent: string | null): ElkNode[] =>
    graph.nodes.filter((node) => node.parent === parent).map((node, _, all) => {
      const children = tree(node.id);
      const { h, ...size } = sizeOf(node);
      // branches that stand side by side in a frame are of one width
      const alone = parent !== null && all.every((sibling) => !joined.has(sibling.id) && !graph.nodes.some((inner) => inner.parent === sibling.id));
      const w = alone ? Math.max(...all.map((sibling) => sizeOf(sibling).w)) : size.w;
      // start nodes come first and end nodes last, whatever the loops
      const place = parent !== null ? undefined : node.shape === "start" ? "FIRST" : node.shape === "end" && !isMark(node.id) ? "LAST" : undefined;
      if (children.length === 0) return { id: node.id, width: w, height: h, ...(place ? { layoutOptions: { "elk.layered.layering.layerConstraint": place } } : {}) };
      return { id: node.id, children, layoutOptions: REGION };
    });
  // The edges that the author wrote first are the main path: it is kept straight.
  const firsts = new Set([...new Map([...graph.edges].reverse().map((edge) => [edge.from, edge.id])).values()]);
  const main = mainWay(graph, firsts);
  const known = new Set(graph.nodes.map((node) => node.id));
  const root: ElkNode = {
    id: "·root",
    layoutOptions: { ...OPTIONS, "elk.direction": down ? "DOWN" : "RIGHT" },
    children: tree(null),
    edges: graph.edges.filter((edge) => known.has(edge.from) && known.has(edge.to) && !within(graph, edge)).map((edge) => edgeOf(edge, main.has(edge.id) ? 40 : firsts.has(edge.id) ? 10 : 0)),
  };
  const laid = read(await (await engine()).layout(root));
  for (const edge of graph.edges) if (edge.back) laid.edges.get(edge.id)?.points.reverse();
  return laid;
}

/** An edge between a frame and what is inside it is the frame itself. */
export function within(graph: Graph, edge: GraphEdge): boolean {
  const parents = new Map(graph.nodes.map((node) => [node.id, node.parent]));
  const inside = (child: string, frame: string) => {
    for (let up = parents.get(child); up; up = parents.get(up)) if (up === frame) return true;
    return false;
  };
  return inside(edge.to, edge.from) || inside(edge.from, edge.to);
}

/** The edges of the main path, from the start along those that were written first. */
function mainWay(graph: Graph, firsts: Set<string>): Set<string> {
  const into = new Set(graph.edges.filter((edge) => !edge.back).map((edge) => edge.to));
  const path = new Set<string>();
  let at = graph.nodes.find((node) => node.parent === null && !into.has(node.id))?.id;
  while (at !== undefined) {
    const next: GraphEdge | undefined = graph.edges.find((edge) => edge.from === at && firsts.has(edge.id) && !path.has(edge.id));
    if (next) path.add(next.id);
    at = next?.to;
  }
  return path;
}

function edgeOf(edge: GraphEdge, weight: number): ElkExtendedEdge {
  const width = edge.label ? Math.min(150, textWidth(edge.label, 11.5) + 20) : 0;
  return {
    // a back edge is laid out reversed, so that the loop's body still reads forward
    id: edge.id, sources: [edge.back ? edge.to : edge.from], targets: [edge.back ? edge.from : edge.to],
    layoutOptions: { "elk.layered.priority.straightness": String(weight), "elk.layered.priority.shortness": String(weight / 2) },
    labels: edge.label ? [{ text: edge.label, width, height: 18, layoutOptions: { "elk.edgeLabels.inline": "true", "elk.edgeLabels.placement": "CENTER" } }] : [],
  };
}

const OPTIONS = {
  "elk.algorithm": "layered",
  "elk.hierarchyHandling": "INCLUDE_CHILDREN",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
  "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
  "elk.layered.nodePlacement.favorStraightEdges": "true",
  "elk.layered.spacing.nodeNodeBetweenLayers": "20",
  "elk.layered.spacing.edgeNodeBetweenLayers": "14",
  "elk.spacing.nodeNode": "22",
  "elk.spacing.edgeNode": "16",
  "elk.spacing.edgeLabel": "4",
  "elk.json.edgeCoords": "ROOT",
  "elk.json.shapeCoords": "ROOT",
  "elk.padding": "[top=12,left=12,bottom=12,right=12]",
};

const REGION = {
  "elk.padding": "[top=36,left=12,bottom=14,right=12]",
  "elk.separateConnectedComponents": "false",
  "elk.spacing.nodeNode": "11",
  "elk.layered.spacing.nodeNodeBetweenLayers": "26",
};

function read(root: ElkNode): Laid {
  const nodes = new Map<string, Box>();
  const edges: Laid["edges"] = new Map();
  const walk = (node: ElkNode) => {
    for (const child of node.children ?? []) {
      nodes.set(child.id, { x: child.x ?? 0, y: child.y ?? 0, w: child.width ?? 0, h: child.height ?? 0 });
      walk(child);
    }
    for (const edge of node.edges ?? []) {
      const points = (edge.sections ?? []).flatMap((section) => [section.startPoint, ...(section.bendPoints ?? []), section.endPoint]);
      const label = edge.labels?.[0];
      edges.set(edge.id, { points, label: label?.width ? { x: label.x ?? 0, y: label.y ?? 0, w: label.width, h: label.height ?? 18 } : null });
    }
  };
  walk(root);
  return { nodes, edges, w: root.width ?? 0, h: root.height ?? 0 };
}

/** A path through the points with soft corners. */
export function pathOf(points: Point[], radius = 8): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let d = `M${first.x} ${first.y}`;
  for (let i = 0; i < rest.length; i++) {
    const here = rest[i] as Point;
    const next = rest[i + 1];
    if (!next) {
      d += `L${here.x} ${here.y}`;
      break;
    }
    const before = points[i] as Point;
    const r = Math.min(radius, distance(before, here) / 2, distance(here, next) / 2);
    const a = towards(here, before, r);
    const b = towards(here, next, r);
    d += `L${a.x} ${a.y}Q${here.x} ${here.y} ${b.x} ${b.y}`;
  }
  return d;
}

const distance = (a: Point, b: Point): number => Math.hypot(a.x - b.x, a.y - b.y);

function towards(from: Point, to: Point, by: number): Point {
  const all = distance(from, to) || 1;
  return { x: from.x + ((to.x - from.x) * by) / all, y: from.y + ((to.y - from.y) * by) / all };
}
