/** One element of a process definition: its own fields, its role, and the ways that lead to it and from it. */
import { isDict, listOf, textOf } from "../api/json";
import type { Dict, Graph, Json } from "../api/types";
import { dataOf, waysOf, type Way } from "../definitions/elementData";

export interface Role {
  name: string;
  rule: string | null;
}

export interface ProcessElement {
  kind: "activity" | "gateway" | "event" | "other";
  data: Dict;
  role: Role | null;
  into: Way[];
  out: Way[];
  /** Boundary events that are attached to it. */
  attached: { id: string; name: string }[];
}

const COLLECTIONS: [ProcessElement["kind"], string][] = [["activity", "activities"], ["gateway", "gateways"], ["event", "events"]];

export function elementOf(document: Dict | null, graph: Graph, id: string): ProcessElement {
  const element = document ? elementIn(document, id) : null;
  const { into, out } = waysOf(graph, id, (edge) => transitionOf(document, edge.id) ?? { name: edge.label ?? "" });
  return {
    kind: element?.kind ?? "other", data: element?.data ?? {}, role: document ? roleOf(document, element?.data ?? {}, id) : null, into, out,
    attached: listOf(document?.["events"]).filter((event) => event["attached_to"] === id).map((event) => ({ id: textOf(event["id"]), name: textOf(event["name"]) || textOf(event["id"]) })),
  };
}

function elementIn(document: Dict, id: string): { kind: ProcessElement["kind"]; data: Dict } | null {
  for (const [kind, collection] of COLLECTIONS) {
    const data = listOf(document[collection]).find((element) => element["id"] === id);
    if (data) return { kind, data };
  }
  const data = dataOf(document, id);
  return data ? { kind: "other", data } : null;
}

/** P-X.9: a condition is written at the transition, or at its gateway under the transition's id or name. */
function transitionOf(document: Dict | null, id: string): Pick<Way, "name" | "condition" | "otherwise"> | null {
  const transition = listOf(document?.["transitions"]).find((candidate) => candidate["id"] === id);
  if (!transition) return null;
  const [name, source] = [textOf(transition["name"]), transition["source"]];
  const gateway = [...listOf(document?.["gateways"]), ...listOf(document?.["activities"])].find((candidate) => candidate["id"] === source);
  const conditions = isDict(gateway?.["conditions"]) ? gateway["conditions"] : {};
  const fallback = textOf(gateway?.["default"]) || textOf(conditions["default"]);
  const condition = conditions[id] ?? conditions[name] ?? conditions[textOf(transition["target"])] ?? transition["condition"];
  return { name, condition: textOf(condition) || null, otherwise: fallback !== "" && (fallback === id || fallback === name) };
}

/** Its own role, or that of the lane it lies in. */
function roleOf(document: Dict, data: Dict, id: string): Role | null {
  const lane = listOf(document["lanes"]).find((candidate) => Array.isArray(candidate["elements"]) && candidate["elements"].includes(id));
  const wanted = textOf(data["role"]) || textOf(lane?.["role"]) || textOf(lane?.["name"]);
  if (!wanted) return null;
  const role = listOf(document["roles"]).find((candidate) => candidate["id"] === wanted || candidate["name"] === wanted);
  return { name: textOf(role?.["name"]) || wanted, rule: textOf(role?.["assignment_rule"]) || null };
}

/** Seconds, or an ISO 8601 duration, in ms; null when it is neither. */
export function durationOf(value: Json | undefined): number | null {
  if (typeof value === "number") return value * 1000;
  if (typeof value !== "string") return null;
  const match = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/.exec(value);
  if (!match || value === "P") return /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : null;
  const [weeks, days, hours, minutes, seconds] = match.slice(1).map((part) => Number(part ?? 0)) as [number, number, number, number, number];
  return ((((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000;
}
