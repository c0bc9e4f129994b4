/** The way through the drawing from one activity to the next, past gateways and events. */
import { ownId, type Drawn, type Element } from "../../bpmn/elements";
import type { FlowStats } from "../types";
import { flowKey } from "../types";

const ACTIVITY = /(?:[tT]ask|callActivity|CallActivity|[sS]ubProcess|[tT]ransaction)$/;

export interface Ways {
  /** By name, the shape of an activity. */
  activities: Map<string, Element>;
  begin: Element | null;
  end: Element | null;
  /** The connections between two activities ("" is the beginning, or the end); null when the drawing has no way. */
  between: (source: string, target: string) => Element[] | null;
}

type Typed = Element & { businessObject?: { $type?: string; name?: string } };

const typeOf = (element: Element): string => (element as Typed).businessObject?.$type ?? "";
const nameOf = (element: Element): string => (element as Typed).businessObject?.name ?? "";

/** `isShown` leaves out what the look hides. */
export function waysOf(drawn: Drawn, isShown: (element: Element) => boolean): Ways {
  const shapes = [...drawn.shapes.values()].filter(isShown);
  const activities = new Map(shapes.filter((shape) => ACTIVITY.test(typeOf(shape))).map((shape) => [nameOf(shape) || ownId(shape), shape]));
  const begins = shapes.filter((shape) => typeOf(shape).endsWith("StartEvent"));
  const ends = new Set(shapes.filter((shape) => typeOf(shape).endsWith("EndEvent")).map(({ id }) => id));
  const out = new Map<string, Element[]>();
  for (const connection of drawn.connections) if (connection.source && connection.target && isShown(connection)) out.set(connection.source.id, [...(out.get(connection.source.id) ?? []), connection]);
  const known = new Map<string, Element[] | null>();
  const between = (source: string, target: string) => {
    const key = flowKey({ source, target });
    const from = source === "" ? begins : [activities.get(source)].filter((shape) => shape !== undefined);
    const to = target === "" ? (shape: Element) => ends.has(shape.id) : (shape: Element) => shape.id === activities.get(target)?.id;
    if (!known.has(key)) known.set(key, search(from, to, out));
    return known.get(key) ?? null;
  };
  return { activities, begin: begins[0] ?? null, end: shapes.find(({ id }) => ends.has(id)) ?? null, between };
}

/** The shortest way that passes no other activity. */
function search(from: Element[], to: (shape: Element) => boolean, out: Map<string, Element[]>): Element[] | null {
  const queue = from.map((shape) => ({ shape, way: [] as Element[] }));
  const met = new Set<string>();
  for (let here = queue.shift(); here; here = queue.shift()) {
    for (const connection of out.get(here.shape.id) ?? []) {
      const next = connection.target;
      if (!next) continue;
      const way = [...here.way, connection];
      if (to(next)) return way;
      if (met.has(next.id) || ACTIVITY.test(typeOf(next))) continue;
      met.add(next.id);
      queue.push({ shape: next, way });
    }
  }
  return null;
}

/** How often each connection was passed: a path between activities counts at all connections of its way. */
export function countsOf(ways: Ways, flows: FlowStats[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const flow of flows) for (const connection of ways.between(flow.source, flow.target) ?? []) counts.set(connection.id, (counts.get(connection.id) ?? 0) + flow.count);
  return counts;
}

const middleOf = (shape: Element): { x: number; y: number } => ({ x: (shape.x ?? 0) + (shape.width ?? 0) / 2, y: (shape.y ?? 0) + (shape.height ?? 0) / 2 });

/** The line that a token goes along, in the drawing's own numbers; without a way it stands where the step ends. */
export function lineOf(ways: Ways, source: string, target: string): { d: string; isAllowed: boolean } | null {
  const from = source === "" ? ways.begin : ways.activities.get(source);
  const to = target === "" ? ways.end : ways.activities.get(target);
  const way = ways.between(source, target);
  if (way) {
    const points = [...(from ? [middleOf(from)] : []), ...way.flatMap(({ waypoints }) => waypoints ?? []), ...(to ? [middleOf(to)] : [])];
    return { d: `M${points.map(({ x, y }) => `${Math.round(x)} ${Math.round(y)}`).join(" L")}`, isAllowed: true };
  }
  const at = to ?? from;
  if (!at) return null;
  const { x, y } = middleOf(at);
  return { d: `M${x} ${y} L${x + 0.1} ${y}`, isAllowed: false };
}
