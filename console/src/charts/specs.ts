/** Finds charts in the data of runs: any value that says of itself that it is a Vega-Lite specification. */
import { isDict } from "../api/json";
import type { Dict, Json } from "../api/types";

const LANGUAGE = "vega-lite";
/** More charts than this are a report, not a look. */
const MOST = 6;

export const isSpec = (value: Json | undefined): value is Dict => isDict(value) && typeof value["$schema"] === "string" && value["$schema"].includes(LANGUAGE);

export function specsIn(value: Json | undefined, depth = 3): Dict[] {
  if (isSpec(value)) return [value];
  if (depth === 0 || value === null || typeof value !== "object") return [];
  return Object.values(value).flatMap((inner) => specsIn(inner, depth - 1)).slice(0, MOST);
}

/** The rows that a chart draws, with its columns, for those who read them as a table. */
export function rowsOf(spec: Dict): { columns: string[]; rows: Dict[] } {
  const data = spec["data"];
  const values = isDict(data) && Array.isArray(data["values"]) ? data["values"].filter(isDict) : [];
  return { columns: [...new Set(values.slice(0, 50).flatMap((row) => Object.keys(row)))], rows: values };
}

export function titleOf(spec: Dict): string {
  const title = spec["title"];
  const text = isDict(title) ? title["text"] : title;
  return typeof text === "string" ? text : typeof spec["description"] === "string" ? spec["description"] : "";
}
