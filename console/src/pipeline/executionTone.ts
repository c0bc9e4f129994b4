/** The tone of an execution and of a stage, and the word that goes with it. */
import type { Tone } from "../api/types";
import type { Dictionary } from "../words/ko";
import type { ExecutionShort, StageShort } from "../api/types";

export interface Standing {
  tone: Tone;
  /** A status, or what it means for people: RETRYING, CANCELLING. */
  state: string;
  word: string;
}

const EXECUTION: Record<string, Tone> = { PENDING: "idle", RUNNING: "moving", COMPLETED: "done", FAILED: "failed", CANCELLED: "idle", TIMEOUT: "held" };
const STAGE: Record<string, Tone> = { STARTED: "moving", RUNNING: "moving", COMPLETED: "done", FAILED: "failed", SKIPPED: "idle", TIMEOUT: "held" };

type Told = Pick<ExecutionShort, "status" | "cancelRequested" | "retryCount" | "error">;

export function standing({ status, cancelRequested, retryCount, error }: Told, t: Dictionary): Standing {
  if (status === "RUNNING" && cancelRequested) return { tone: "held", state: "CANCELLED", word: t.pipeline.cancelling };
  if (status === "PENDING" && retryCount > 0 && error) return { tone: "held", state: "RETRYING", word: t.pipeline.status["RETRYING"] ?? status };
  return { tone: EXECUTION[status] ?? "idle", state: status, word: t.pipeline.status[status] ?? status };
}

export const stageTone = (stage: Pick<StageShort, "status">): Tone => STAGE[stage.status ?? ""] ?? "idle";

/** Groups of stages that run side by side, in their order. */
export function groupsOf<T extends StageShort>(stages: T[]): T[][] {
  const groups: T[][] = [];
  for (const stage of stages) {
    const last = groups.at(-1);
    if (last && last[0]?.group === stage.group) last.push(stage);
    else groups.push([stage]);
  }
  return groups;
}
