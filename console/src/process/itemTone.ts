/** The tone of a work item's status. */
import type { Tone } from "../api/types";

const TONES: Record<string, Tone> = { TODO: "held", IN_PROGRESS: "moving", SUBMITTED: "held", DONE: "done", REWORK: "held", CANCELLED: "idle", COMPENSATED: "undone" };

export const itemTone = (status: string): Tone => TONES[status] ?? "idle";

/** Statuses in which somebody can still do something. */
export const OPEN_STATUSES = ["TODO", "IN_PROGRESS", "SUBMITTED", "REWORK"];
