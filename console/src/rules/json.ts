/** JSON that somebody types: its value, or the line that cannot be read. */
import type { Json } from "../api/types";

export type Typed = { value: Json } | { line: number; why: string };

/** The value of a text; an empty one is null. */
export function readJson(text: string): Typed {
  if (!text.trim()) return { value: null };
  try {
    return { value: JSON.parse(text) as Json };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const at = /position (\d+)/.exec(why);
    const line = at ? text.slice(0, Number(at[1])).split("\n").length : text.trimEnd().split("\n").length;
    return { line, why: why.replace(/\s*(?:in JSON )?at position.*$/s, "") };
  }
}

export const writeJson = (value: Json | undefined): string => (value === null || value === undefined ? "" : JSON.stringify(value, null, 2));
