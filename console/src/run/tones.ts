/** The tone of a work item's status. */
import type { Tone } from "../api/types";

export const ITEM_TONE: Record<string, Tone> = { TODO: "held", IN_PROGRESS: "moving", SUBMITTED: "held", DONE: "done", REWORK: "held", CANCELLED: "idle", COMPENSATED: "undone" };
