/** The shapes of the plans' API under this folder's names, and what is told of plans as it happens. */
import type { SessionLine, TaskAgent, TaskExecution } from "../api/types";

export type { Criterion, Deadlock, Health, HealthStatus, Project, Report, SessionLog, Sync, Task, TaskDetail, TaskVerb, Workflow, WorkflowVerb } from "../api/types";
export type Agent = TaskAgent;
export type Execution = TaskExecution;
export type LogLine = SessionLine;

/** A list as the server sends it. */
export interface Items<T> {
  items: T[];
}

/** Names as the seed has them. */
export type EventName = "task:statusChanged" | "claude:started" | "claude:stream" | "claude:complete" | "claude:error" | "dashboard:update";
