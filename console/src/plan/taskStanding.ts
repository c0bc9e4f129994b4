/** How a task stands: its column on the board, its tone, the word that goes with it, and where it may be moved. */
import { Check, Clock3, Eye, Lock, RotateCw, type LucideIcon } from "lucide-react";
import type { Me, Tone } from "../api/types";
import { may } from "../shell/session";
import type { Dictionary } from "../words/ko";
import type { Execution, HealthStatus, Project, Task, TaskVerb, Workflow } from "./types";

export const COLUMNS = ["pending", "in_progress", "review", "finished"] as const;
export type Column = (typeof COLUMNS)[number];

/** From this confidence on a task completes by itself. */
export const SURE = 80;
/** An agent that says nothing for this long is marked. */
const SILENT_MS = 60_000;

export function columnOf(task: Task): Column {
  if (task.status === "pending") return "pending";
  if (task.status === "in_progress") return task.reviewRequired ? "review" : "in_progress";
  return "finished";
}

export interface Standing {
  tone: Tone;
  state: string;
  word: string;
  icon?: LucideIcon;
}

const TONES: Record<string, Tone> = { pending: "idle", in_progress: "moving", completed: "done", failed: "failed", cancelled: "idle" };

export function standing(task: Task, t: Dictionary): Standing {
  const p = t.plan;
  if (task.status === "in_progress" && task.reviewRequired) return { tone: "held", state: "REVIEW", word: p.status["review"] ?? "", icon: Eye };
  if (task.status === "pending") {
    if (task.nextAttemptAt !== null) return { tone: "held", state: "RETRYING", word: t.state["RETRYING"] ?? "", icon: RotateCw };
    if (isBlocked(task)) return { tone: "held", state: "BLOCKED", word: p.blocked, icon: Lock };
    if (task.queued) return { tone: "idle", state: "QUEUED", word: p.queued, icon: Clock3 };
    if (task.ready) return { tone: "idle", state: "READY", word: p.ready, icon: Check };
  }
  return { tone: TONES[task.status] ?? "idle", state: task.status === "cancelled" ? "CANCELLED" : task.status === "pending" ? "PENDING" : task.status, word: p.status[task.status] ?? task.status };
}

export const isBlocked = (task: Task): boolean => task.status === "pending" && !task.ready && task.blockingTasks.length > 0;

/** Since when its agent says nothing, when that is long. */
export function silentFor(task: Task, now: number): number | null {
  const heard = ms(task.lastHeartbeatAt ?? task.startedAt) ?? now;
  return columnOf(task) === "in_progress" && now - heard > SILENT_MS ? now - heard : null;
}

/** `recovered`: its agent died, and its task counts as completed all the same. */
export const executionTone = (execution: Execution, recovered = false): Tone =>
  recovered ? "undone" : execution.status === "running" ? "moving" : execution.status === "failed" ? "failed" : execution.status === "completed" ? "done" : "idle";

export const HEALTH_TONE: Record<HealthStatus, Tone> = { unknown: "idle", healthy: "done", warning: "held", error: "failed" };

/** It was asked to stop, and waits for what is under way; after a restart nobody has asked. */
export const isStopping = (workflow: Partial<Pick<Workflow, "stopping" | "why">>): boolean => !!workflow.stopping && workflow.why !== "restarted";

export function workflowStanding(of: Pick<Project, "status"> & Partial<Pick<Workflow, "stopping" | "why">>, t: Dictionary): Standing {
  const stopping = isStopping(of);
  const word = (stopping ? t.plan.workflow["stopping"] : t.plan.workflow[of.status]) ?? of.status;
  if (stopping) return { tone: "held", state: "PAUSED", word };
  const tone: Tone = of.status === "running" ? "moving" : of.status === "paused" ? "held" : of.status === "completed" ? "done" : "idle";
  return { tone, state: of.status === "idle" ? "IDLE" : of.status, word };
}

/** What each move needs. */
export const PERMISSION: Record<TaskVerb, string> = {
  execute: "plan.write", cancel: "plan.write", complete: "plan.write", retry: "plan.write", "review-approve": "plan.review", "review-reject": "plan.review", "force-complete": "plan.admin",
};

/** The moves that the server allows and I may do. */
export const movesOf = (task: Task, me: Me): TaskVerb[] => task.moves.filter((verb) => PERMISSION[verb] !== undefined && may(me, PERMISSION[verb]));

/** The move that takes a task to a column; null where no transition leads there. */
function verbTo(task: Task, to: Column): TaskVerb | null {
  const from = columnOf(task);
  if (to === "in_progress") return from === "pending" ? "execute" : null;
  if (to === "pending") return from === "review" ? "review-reject" : task.status === "failed" ? "retry" : null;
  if (to === "finished") return from === "review" ? "review-approve" : from === "finished" ? null : "cancel";
  return null;
}

/** What dropping a task on a column asks for, or why it goes back. */
export function dropOn(task: Task, to: Column, me: Me, t: Dictionary): { verb: TaskVerb } | { why: string } {
  const p = t.plan;
  const from = columnOf(task);
  if (from === to) return { why: p.cannotDrop.same };
  const verb = verbTo(task, to);
  if (verb !== null && task.moves.includes(verb)) return may(me, PERMISSION[verb]) ? { verb } : { why: p.needs(PERMISSION[verb]) };
  if (to === "review") return { why: p.cannotDrop.review };
  if (from === "finished") return { why: p.cannotDrop.terminal(standing(task, t).word) };
  if (verb === "execute") return { why: `${reasonOf(task, t)}.` };
  return { why: from === "in_progress" && to === "pending" ? p.cannotDrop.running : p.cannotDrop.other };
}

/** Why a pending task is not under way. */
export function reasonOf(task: Task, t: Dictionary): string {
  const said = t.plan.reason[task.reason] ?? (task.reason || t.plan.cannotDrop.other.replace(/\.$/, ""));
  return task.blockingTasks.length ? `${said} (${task.blockingTasks.join(", ")})` : said;
}

/** Milliseconds since the epoch. */
export const ms = (time: string | null): number | null => (time === null ? null : Date.parse(time));
