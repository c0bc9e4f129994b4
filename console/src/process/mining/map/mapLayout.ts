/**
 * Where activities and paths of the map are: the most frequent way is a straight spine downward, other activities stand
 * right of it, skips run on the right or on the far left, returns on the left.
 */
import { flowKey, type ActivityStats, type FlowStats, type Variant } from "../types";

export const NODE_WIDTH = 176;
export const NODE_HEIGHT = 44;
const ROW = 80;
const COLUMN = 268;
/** Of the circles at the beginning and at the end. */
export const END_RADIUS = 9;
/** How far the first arc leaves the node, and each one around it further. */
const ARC = 46;
const ARC_STEP = 104;
/** Room for the numbers beside an arc. */
const LABEL = 98;
const MARGIN = 26;
/** How far the ends of paths stand apart at the side of a node. */
const PORT = 13;

export interface Spot {
  x: number;
  y: number;
}

export interface Way {
  flow: FlowStats;
  from: Spot;
  /** The control points of an arc; null when it is straight. */
  bends: [Spot, Spot] | null;
  tip: Spot;
  /** The direction at the tip, in degrees. */
  angle: number;
  label: Spot & { anchor: "start" | "end" };
}

export interface MapLayout {
  width: number;
  height: number;
  /** The left upper corners of the activities. */
  nodes: Map<string, Spot>;
  begin: Spot;
  end: Spot;
  ways: Way[];
}

/** A path of SVG, which ends so many px before the tip. */
export function wayPath({ from, bends, tip, angle }: Pick<Way, "from" | "bends" | "tip" | "angle">, before = 0): string {
  const turn = (angle * Math.PI) / 180;
  const to = { x: round(tip.x - Math.cos(turn) * before), y: round(tip.y - Math.sin(turn) * before) };
  const bend = bends ? `C${round(bends[0].x)} ${round(bends[0].y)} ${round(bends[1].x)} ${round(bends[1].y)} ` : "L";
  return `M${round(from.x)} ${round(from.y)} ${bend}${to.x} ${to.y}`;
}

const round = (value: number): number => Math.round(value * 10) / 10;

interface Cell {
  row: number;
  column: number;
}

type Side = "left" | "right";

interface Arc {
  flow: FlowStats;
  top: number;
  bottom: number;
  side: Side;
  lane: number;
}

export function mapLayout(activities: ActivityStats[], flows: FlowStats[], variants: Variant[]): MapLayout {
  const names = new Set(activities.map(({ name }) => name));
  const spine = spineOf(names, flows, variants);
  const { cells, rows } = cellsOf(spine, names, flows);
  const columns = Math.max(0, ...[...cells.values()].map(({ column }) => column));
  const arcs = arcsOf(flows, cells, rows);
  const reach = (side: Side) => Math.max(0, ...arcs.filter((arc) => arc.side === side).map(({ lane }) => ARC + lane * ARC_STEP + LABEL));
  const left = MARGIN + Math.max(reach("left"), 40);
  const width = left + columns * COLUMN + NODE_WIDTH + Math.max(reach("right"), LABEL) + MARGIN;
  const top = MARGIN + 2 * END_RADIUS + 24;
  const at = ({ row, column }: Cell): Spot => ({ x: left + column * COLUMN, y: top + row * ROW });
  const nodes = new Map([...cells].map(([name, cell]) => [name, at(cell)]));
  const middle = left + NODE_WIDTH / 2;
  const begin = { x: middle, y: MARGIN + END_RADIUS };
  const end = { x: middle, y: top + rows * ROW - (ROW - NODE_HEIGHT) + 24 + END_RADIUS };
  return { width, height: end.y + END_RADIUS + MARGIN, nodes, begin, end, ways: waysOf(flows, cells, rows, arcs, { nodes, begin, end }) };
}

/** The activities of the most frequent variant that is shown whole, else what most cases do next. */
export function spineOf(names: Set<string>, flows: FlowStats[], variants: Variant[]): string[] {
  const usual = [...variants].sort((a, b) => b.cases - a.cases)[0];
  const spine = [...new Set(usual?.activities ?? [])].filter((name) => names.has(name));
  if (spine.length > 0) return spine;
  let here = "";
  for (;;) {
    const next = flows.filter(({ source, target }) => source === here && target !== "" && !spine.includes(target)).sort((a, b) => b.count - a.count)[0];
    if (!next) return spine;
    spine.push(next.target);
    here = next.target;
  }
}

/** The spine in column 0, a row each; the others in the row between those that come before and after them. */
function cellsOf(spine: string[], names: Set<string>, flows: FlowStats[]): { cells: Map<string, Cell>; rows: number } {
  const cells = new Map<string, Cell>(spine.map((name, row) => [name, { row, column: 0 }]));
  const taken = new Set(spine.map((_, row) => `0 ${row}`));
  const waiting = new Set([...names].filter((name) => !cells.has(name)));
  let last = spine.length;
  while (waiting.size > 0) {
    const [name, row] = nextPlaced(waiting, cells, flows, last);
    waiting.delete(name);
    let column = 1;
    while (taken.has(`${column} ${row}`)) column += 1;
    taken.add(`${column} ${row}`);
    cells.set(name, { row, column });
    last = Math.max(last, row + 1);
  }
  return { cells, rows: Math.max(1, last) };
}

/** The activity that is joined most to what has a place, and the row that lies between its neighbours. */
function nextPlaced(waiting: Set<string>, cells: Map<string, Cell>, flows: FlowStats[], rows: number): [string, number] {
  let best: [string, number, number] | null = null;
  for (const name of waiting) {
    const before = flows.filter(({ source, target }) => target === name && (source === "" || cells.has(source)));
    const after = flows.filter(({ source, target }) => source === name && (target === "" || cells.has(target)));
    const weight = [...before, ...after].reduce((sum, { count }) => sum + count, 0);
    if (best && weight <= best[2]) continue;
    const from = strongest(before), to = strongest(after);
    const above = !from ? null : from.source === "" ? -1 : (cells.get(from.source)?.row ?? 0);
    const below = !to ? null : to.target === "" ? rows : (cells.get(to.target)?.row ?? 0);
    const row = above !== null && below !== null ? (below > above ? (above + below) / 2 : above + 0.5) : above !== null ? above + 1 : below !== null ? below - 1 : 0;
    best = [name, Math.max(0, Math.ceil(row)), weight];
  }
  return best ? [best[0], best[1]] : ["", 0];
}

const strongest = (flows: FlowStats[]): FlowStats | undefined => [...flows].sort((a, b) => b.count - a.count)[0];

const isArc = ({ source, target }: FlowStats, cells: Map<string, Cell>, rows: number): boolean => {
  const [from, to] = ends({ source, target }, cells, rows);
  const isFree = ![...cells.values()].some((cell) => cell.column === from.column && cell.row > from.row && cell.row < to.row);
  return source !== target && from.column === to.column && !(to.row > from.row && isFree);
};

function ends({ source, target }: { source: string; target: string }, cells: Map<string, Cell>, rows: number): [Cell, Cell] {
  return [source === "" ? { row: -1, column: 0 } : (cells.get(source) ?? { row: 0, column: 0 }), target === "" ? { row: rows, column: 0 } : (cells.get(target) ?? { row: 0, column: 0 })];
}

/** Returns on the left; the shortest skips on the right, and on the left what would cross one there or run through an activity. */
function arcsOf(flows: FlowStats[], cells: Map<string, Cell>, rows: number): Arc[] {
  const arcs: Arc[] = [];
  const wanted = flows.filter((flow) => isArc(flow, cells, rows)).map((flow) => ({ flow, ends: ends(flow, cells, rows) }));
  wanted.sort((a, b) => Math.abs(a.ends[1].row - a.ends[0].row) - Math.abs(b.ends[1].row - b.ends[0].row) || b.flow.count - a.flow.count);
  for (const { flow, ends: [from, to] } of wanted) {
    const [top, bottom] = [Math.min(from.row, to.row), Math.max(from.row, to.row)];
    const crosses = (side: Side) => arcs.some((arc) => arc.side === side && isCrossed(arc, { top, bottom }));
    const blocked = [...cells.values()].some((cell) => cell.column > from.column && cell.row > top && cell.row < bottom);
    const side: Side = to.row < from.row ? "left" : blocked || (crosses("right") && !crosses("left")) ? "left" : "right";
    const inner = arcs.filter((arc) => arc.side === side && arc.top < bottom && arc.bottom > top).map(({ lane }) => lane);
    arcs.push({ flow, top, bottom, side, lane: inner.length > 0 ? Math.max(...inner) + 1 : Math.max(0, bottom - top - 2) * 0.4 });
  }
  return arcs;
}

const isCrossed = (a: { top: number; bottom: number }, b: { top: number; bottom: number }): boolean => (a.top < b.top && b.top < a.bottom && a.bottom < b.bottom) || (b.top < a.top && a.top < b.bottom && b.bottom < a.bottom);

interface Places {
  nodes: Map<string, Spot>;
  begin: Spot;
  end: Spot;
}

function waysOf(flows: FlowStats[], cells: Map<string, Cell>, rows: number, arcs: Arc[], places: Places): Way[] {
  const ports = portsOf(arcs, cells, rows);
  const arcOf = new Map(arcs.map((arc) => [flowKey(arc.flow), arc]));
  return flows.map((flow) => {
    const arc = arcOf.get(flowKey(flow));
    if (arc) return arcWay(arc, ports, places);
    if (flow.source === flow.target) return selfWay(flow, places);
    const [from, to] = ends(flow, cells, rows);
    return from.column === to.column ? straightWay(flow, places) : sideWay(flow, from, to, places);
  });
}

const port = (flow: FlowStats, end: "source" | "target"): string => `${flowKey(flow)} ${end}`;

/** The ends of arcs at one side of a node lie in the order of where they lead. */
function portsOf(arcs: Arc[], cells: Map<string, Cell>, rows: number): Map<string, number> {
  const sides = new Map<string, { key: string; to: number }[]>();
  for (const { flow, side, lane } of arcs) {
    const [from, to] = ends(flow, cells, rows);
    for (const [end, name, other, own] of [["source", flow.source, to.row, from.row], ["target", flow.target, from.row, to.row]] as const) {
      const place = `${name} ${side}`;
      // of two that lead the same way the outer one begins nearer to the middle
      sides.set(place, [...(sides.get(place) ?? []), { key: port(flow, end), to: other > own ? 1000 - lane - (other - own) : -1000 + lane + (own - other) }]);
    }
  }
  const out = new Map<string, number>();
  for (const own of sides.values()) {
    own.sort((a, b) => a.to - b.to);
    own.forEach(({ key, to }, i) => out.set(key, own.length === 1 ? Math.sign(to) * 6 : (i / (own.length - 1) - 0.5) * 2 * PORT));
  }
  return out;
}

function arcWay({ flow, side, lane }: Arc, ports: Map<string, number>, { nodes, begin, end }: Places): Way {
  const sign = side === "right" ? 1 : -1;
  const at = (name: string, isSource: boolean): Spot => {
    if (name === "") { const circle = isSource ? begin : end; return { x: circle.x + sign * END_RADIUS, y: circle.y }; }
    const node = nodes.get(name) ?? { x: 0, y: 0 };
    return { x: node.x + (side === "right" ? NODE_WIDTH : 0), y: node.y + NODE_HEIGHT / 2 + (ports.get(port(flow, isSource ? "source" : "target")) ?? 0) };
  };
  const from = at(flow.source, true), to = at(flow.target, false);
  const outermost = (side === "right" ? Math.max(from.x, to.x) : Math.min(from.x, to.x)) + sign * (ARC + lane * ARC_STEP);
  // half of it is where the two control points are three quarters away
  const pull = (x: number) => x + ((outermost - x) * 4) / 3;
  return { flow, from, bends: [{ x: pull(from.x), y: from.y }, { x: pull(to.x), y: to.y }], tip: to, angle: side === "right" ? 180 : 0, label: { x: outermost + sign * 8, y: (from.y + to.y) / 2, anchor: side === "right" ? "start" : "end" } };
}

function straightWay(flow: FlowStats, { nodes, begin, end }: Places): Way {
  const source = nodes.get(flow.source), target = nodes.get(flow.target);
  const x = (source ?? target)?.x ?? begin.x - NODE_WIDTH / 2;
  const from = source ? { x: source.x + NODE_WIDTH / 2, y: source.y + NODE_HEIGHT } : { x: x + NODE_WIDTH / 2, y: begin.y + END_RADIUS };
  const to = target ? { x: target.x + NODE_WIDTH / 2, y: target.y } : { x: end.x, y: end.y - END_RADIUS };
  return { flow, from, bends: null, tip: to, angle: 90, label: { x: from.x + 13, y: (from.y + to.y) / 2, anchor: "start" } };
}

/** Between columns: out of the side that faces the other activity, and into its near side. */
function sideWay(flow: FlowStats, from: Cell, to: Cell, { nodes, begin, end }: Places): Way {
  const rightward = to.column > from.column;
  const source = nodes.get(flow.source), target = nodes.get(flow.target);
  const start = source ? { x: source.x + (rightward ? NODE_WIDTH : 0), y: source.y + NODE_HEIGHT / 2 + 5 } : { x: begin.x + END_RADIUS, y: begin.y };
  const tip = target ? { x: target.x + (rightward ? 0 : NODE_WIDTH), y: target.y + NODE_HEIGHT / 2 - 5 } : { x: end.x + END_RADIUS, y: end.y };
  const sign = rightward ? 1 : -1;
  const bend = Math.max(36, Math.abs(tip.x - start.x) * 0.5);
  return { flow, from: start, bends: [{ x: start.x + sign * bend, y: start.y }, { x: tip.x - sign * bend, y: tip.y }], tip, angle: rightward ? 0 : 180, label: { x: (start.x + tip.x) / 2 + 6, y: (start.y + tip.y) / 2, anchor: "start" } };
}

/** An activity that is done twice in a row: a loop at its upper left. */
function selfWay(flow: FlowStats, { nodes }: Places): Way {
  const { x, y } = nodes.get(flow.source) ?? { x: 0, y: 0 };
  const [high, low] = [y + 9, y + NODE_HEIGHT - 9];
  return { flow, from: { x, y: low }, bends: [{ x: x - 40, y: low }, { x: x - 40, y: high }], tip: { x, y: high }, angle: 0, label: { x: x - 34, y: y + NODE_HEIGHT / 2, anchor: "end" } };
}
