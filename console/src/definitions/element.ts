/** One element of a document, as it is told beside the picture: what it says itself, and the ways that lead in and out. */
import type { Dict, Graph, Json } from "../api/types";

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

export interface Role {
  name: string;
  rule: string | null;
}

export interface Element {
  kind: "activity" | "gateway" | "event" | "other";
  data: Dict;
  role: Role | null;
  into: Way[];
  out: Way[];
  /** Boundary events that hang at it. */
  hanging: { id: string; name: string }[];
}

export const isDict = (value: Json | undefined): value is Dict => value !== null && typeof value === "object" && !Array.isArray(value);
export const listOf = (value: Json | undefined): Dict[] => (Array.isArray(value) ? value.filter(isDict) : []);
export const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));

const KINDS: [Element["kind"], string][] = [["activity", "activities"], ["gateway", "gateways"], ["event", "events"]];

export function elementOf(document: Dict | null, graph: Graph, id: string): Element {
  const told = document ? foundIn(document, id) : null;
  const named = (other: string): string => graph.nodes.find((one) => one.id === other)?.label ?? other;
  const ways = (edges: Graph["edges"], end: "from" | "to"): Way[] => edges.map((edge) => ({ ...wayOf(document, edge.id, edge.label), other: edge[end], label: named(edge[end]) }));
  const drawn = graph.edges.filter((edge) => !edge.skip && edge.from !== edge.to && edge.port !== "undo" && !named(edge.from).startsWith("."));
  return {
    kind: told?.kind ?? "other", data: told?.data ?? {}, role: document ? roleOf(document, told?.data ?? {}, id) : null,
    into: ways(drawn.filter((edge) => edge.to === id), "from"), out: ways(drawn.filter((edge) => edge.from === id), "to"),
    hanging: listOf(document?.["events"]).filter((one) => one["attached_to"] === id).map((one) => ({ id: textOf(one["id"]), name: textOf(one["name"]) || textOf(one["id"]) })),
  };
}

function foundIn(document: Dict, id: string): { kind: Element["kind"]; data: Dict } | null {
  for (const [kind, collection] of KINDS) {
    const data = listOf(document[collection]).find((one) => one["id"] === id);
    if (data) return { kind, data };
  }
  const data = deep(document, id, 6);
  return data ? { kind: "other", data } : null;
}

/** Wherever it is written: other languages nest their nodes. */
function deep(value: Json | undefined, id: string, depth: number): Dict | null {
  if (depth === 0 || value === null || typeof value !== "object") return null;
  if (isDict(value) && (value["id"] === id || value["label"] === id)) return value;
  for (const one of Array.isArray(value) ? value : Object.values(value)) {
    const found = deep(one, id, depth - 1);
    if (found) return found;
  }
  return null;
}

/** P-X.9: a condition is written at the transition, or at its gateway under the transition's id or name. */
function wayOf(document: Dict | null, id: string, label: string | null): Omit<Way, "other" | "label"> {
  const transition = listOf(document?.["transitions"]).find((one) => one["id"] === id);
  if (!transition) return { id, name: label ?? "", condition: null, otherwise: false };
  const [name, source] = [textOf(transition["name"]), transition["source"]];
  const gate = [...listOf(document?.["gateways"]), ...listOf(document?.["activities"])].find((one) => one["id"] === source);
  const conditions = isDict(gate?.["conditions"]) ? gate["conditions"] : {};
  const usual = textOf(gate?.["default"]) || textOf(conditions["default"]);
  const condition = conditions[id] ?? conditions[name] ?? conditions[textOf(transition["target"])] ?? transition["condition"];
  return { id, name, condition: textOf(condition) || null, otherwise: usual !== "" && (usual === id || usual === name) };
}

/** Its own role, or that of the lane it lies in. */
function roleOf(document: Dict, data: Dict, id: string): Role | null {
  const lane = listOf(document["lanes"]).find((one) => Array.isArray(one["elements"]) && one["elements"].includes(id));
  const wanted = textOf(data["role"]) || textOf(lane?.["role"]) || textOf(lane?.["name"]);
  if (!wanted) return null;
  const role = listOf(document["roles"]).find((one) => one["id"] === wanted || one["name"] === wanted);
  return { name: textOf(role?.["name"]) || wanted, rule: textOf(role?.["assignment_rule"]) || null };
}

/** Seconds, or an ISO 8601 duration, in ms; null when it is neither. */
export function spanOf(value: Json | undefined): number | null {
  if (typeof value === "number") return value * 1000;
  if (typeof value !== "string") return null;
  const found = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/.exec(value);
  if (!found || value === "P") return /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : null;
  const [weeks, days, hours, minutes, seconds] = found.slice(1).map((one) => Number(one ?? 0)) as [number, number, number, number, number];
  return ((((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000;
}
