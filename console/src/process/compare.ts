/** How two process definitions differ, by the ids of their elements. */
import { isDict, listOf, textOf } from "../api/json";
import type { Dict, Json } from "../api/types";
import type { Difference } from "../languages/contract";

const DRAWN = ["activities", "gateways", "events"];
const COLLECTIONS = [...DRAWN, "transitions", "roles", "data", "lanes", "messages", "signals", "errors", "escalations"];
/** What the server fills in, and where elements are drawn: no part of what the process does. */
const IGNORED = ["version", "diagram", "extensions", "tenant_id"];

/** The collection of fields that belong to the definition itself. */
export const DEFINITION = "definition";

const isSame = (a: Json | undefined, b: Json | undefined): boolean => JSON.stringify(sorted(a ?? null)) === JSON.stringify(sorted(b ?? null));
const sorted = (value: Json): Json => (Array.isArray(value) ? value.map(sorted) : isDict(value) ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key] ?? null)])) : value);

export function compareProcesses(before: Dict, after: Dict): Difference[] {
  const differences = COLLECTIONS.flatMap((collection) => compareCollection(collection, elementsById(before, collection), elementsById(after, collection)));
  const fields = changedFields(before, after).filter(({ name }) => !COLLECTIONS.includes(name) && !IGNORED.includes(name));
  if (fields.length > 0) differences.push({ kind: "changed", collection: DEFINITION, id: "", name: "", drawn: false, fields });
  return differences;
}

const elementsById = (document: Dict, collection: string): Map<string, Dict> => new Map(listOf(document[collection]).map((element) => [textOf(element["id"]) || textOf(element["name"]), element]));

function compareCollection(collection: string, before: Map<string, Dict>, after: Map<string, Dict>): Difference[] {
  const drawn = DRAWN.includes(collection);
  const differences: Difference[] = [];
  for (const [id, element] of after) {
    const old = before.get(id);
    const fields = old ? changedFields(old, element) : [];
    if (!old || fields.length > 0) differences.push({ kind: old ? "changed" : "added", collection, id, name: nameOf(element, id), drawn, fields });
  }
  for (const [id, element] of before) if (!after.has(id)) differences.push({ kind: "removed", collection, id, name: nameOf(element, id), drawn: false, fields: [] });
  return differences;
}

function changedFields(before: Dict, after: Dict): Difference["fields"] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.filter((name) => !isSame(before[name], after[name])).map((name) => ({ name, before: before[name] ?? null, after: after[name] ?? null }));
}

const nameOf = (element: Dict, id: string): string => textOf(element["name"]) || (element["source"] ? `${textOf(element["source"])} → ${textOf(element["target"])}` : id);
