/** The request of each move of a run, and its icon. */
import { Ban, CirclePause, CirclePlay, GitFork, PencilLine, Radio, RefreshCw, RotateCcw, SkipForward, Undo2, UserCheck, Wrench, X, type LucideIcon } from "lucide-react";
import { call, post } from "../api/client";
import type { Json, Move, Run, Verb } from "../api/types";

export const MOVE_ICON: Record<Verb, LucideIcon> = {
  signal: Radio, pause: CirclePause, resume: CirclePlay, retry: RefreshCw, restart: RotateCcw, cancel: Ban, cancel_boundary: Ban, compensate: Undo2, fork: GitFork,
  resolve: Wrench, edit_variable: PencilLine, approve: UserCheck, reject: X, judge: UserCheck, respond: UserCheck, skip: SkipForward,
};

export interface MoveInput {
  reason: string;
  name: string;
  /** JSON: a payload, a result, a variable. */
  value: string;
  fact: number;
}

/** Sends a move; of a fork, returns the id of the new run. */
export async function sendMove(run: Run, move: Move, input: MoveInput, key: string): Promise<string | null> {
  const at = `/runs/${encodeURIComponent(run.id)}`;
  const json = (): Json => (input.value.trim() ? (JSON.parse(input.value) as Json) : null);
  switch (move.verb) {
    case "cancel": await post(`${at}/cancel`, { mode: "now", reason: input.reason || null }, key); return null;
    case "cancel_boundary": await post(`${at}/cancel`, { mode: "boundary", reason: input.reason || null }, key); return null;
    case "retry": await post(`${at}/retry`, { how: "here" }, key); return null;
    case "restart": await post(`${at}/retry`, { how: "restart" }, key); return null;
    case "compensate": await post(`${at}/compensate`, {}, key); return null;
    case "signal": await post(`${at}/signal`, { name: input.name, payload: json() }, key); return null;
    case "resolve": await post(`${at}/resolve`, { node: move.target, value: json() }, key); return null;
    case "skip": await post(`${at}/skip`, { node: move.target, reason: input.reason }, key); return null;
    case "edit_variable": await call(`${at}/variables`, { method: "PATCH", body: { set: { [input.name]: json() }, reason: input.reason }, key }); return null;
    case "fork": return (await post<{ id: string }>(`${at}/fork`, { fact: input.fact }, key)).id;
    default: await post(`${at}/${move.verb}`, {}, key); return null;
  }
}
