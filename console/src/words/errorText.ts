/** What went wrong, in a sentence for people. */
import { ApiError, Offline } from "../api/client";
import type { Dictionary } from "./ko";

export function errorText(error: unknown, t: Dictionary): string {
  if (error instanceof Offline) return t.error.offline;
  if (error instanceof ApiError) return [error.problem.detail || error.problem.title, error.problem.hint].filter(Boolean).join(" ");
  return error instanceof Error ? error.message : String(error);
}
