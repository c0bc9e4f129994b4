/** The shapes of the plans' API. */
import type { Json } from "../api/types";

/** A time as ISO 8601. */
export type Moment = string;

export type TaskStatus = "pending" | "in_progress" | "completed" | "cancelled" | "failed";
export type TaskVerb = "execute" | "cancel" | "complete" | "retry" | "review-approve" | "review-reject" | "force-complete";
export type WorkflowStatus = "idle" | "running" | "paused" | "completed";
export type WorkflowVerb = "start" | "stop" | "stop-now" | "resume" | "reset";
export type HealthStatus = "unknown" | "healthy" | "warning" | "error";

export interface Items<T> {
  items: T[];
}

export interface Project {
  id: string;
  name: string;
  title: string;
  path: string;
  enabled: boolean;
  trusted: boolean;
  run: string | null;
  status: WorkflowStatus;
  health: HealthStatus;
  score: number | null;
  maxConcurrent: number;
  counts: Partial<Record<TaskStatus, number>>;
  /** Tasks that wait for a reviewer. */
  review: number;
  /** The folder is not there. */
  missing: boolean;
  git: boolean;
  why: string;
  checkedAt: Moment | null;
  lastSeenAt: Moment | null;
  createdAt: Moment;
}

export interface Dependency {
  id: string;
  optional: boolean;
  weight: number;
  status: string;
  /** It lets the task run. */
  resolved: boolean;
  /** It was taken out to break a cycle. */
  removed: boolean;
}

export interface Task {
  id: string;
  title: string;
  status: TaskStatus;
  priority: number | null;
  assignedAgent: string | null;
  agent: string | null;
  file: string;
  dependsOn: Dependency[];
  ready: boolean;
  queued: boolean;
  /** What it waits for, while it is not ready. */
  reason: string;
  blockingTasks: string[];
  retryCount: number;
  maxRetries: number;
  nextAttemptAt: Moment | null;
  reviewRequired: boolean;
  completedByRecovery: boolean;
  progress: number;
  confidence: number | null;
  matched: string[];
  criteriaTotal: number;
  attempt: number;
  lastError: string | null;
  /** The last line that its agent has said. */
  lastLine: string;
  reviewNotes: string;
  session: string | null;
  trigger: string;
  schedule: string | null;
  lastHeartbeatAt: Moment | null;
  startedAt: Moment | null;
  createdAt: Moment | null;
  updatedAt: Moment | null;
  completedAt: Moment | null;
  moves: TaskVerb[];
}

export interface Criterion {
  text: string;
  /** Null before the analysis. */
  matched: boolean | null;
  how: string;
}

export interface Execution {
  session: string;
  task: string;
  agent: string;
  attempt: number;
  status: "pending" | "running" | "completed" | "failed";
  trigger: string;
  pid: number | null;
  startedAt: Moment | null;
  completedAt: Moment | null;
  durationMs: number | null;
  exitCode: number | null;
  error: string | null;
  progress: number;
  confidence: number | null;
  matched: string[];
  tokensIn: number;
  tokensOut: number;
  costUsd: number;
  lastHeartbeatAt: Moment | null;
  silent: boolean;
  worktree: string | null;
  branch: string | null;
  merge: string;
  hasDiff: boolean;
  hasLog: boolean;
  resume: boolean;
  killFailed: boolean;
  completedByRecovery: boolean;
  /** Null when it is not known. */
  landlock: boolean | null;
  criteria: Criterion[];
  diffStat: { files: number; added: number; removed: number } | null;
  result: string;
  reviewNotes: string;
  rawLines: number;
}

export interface TaskDetail {
  task: Task;
  description: string;
  references: string[];
  skill: string | null;
  timeoutS: number;
  criteria: Criterion[];
  dependents: string[];
  /** Newest first. */
  executions: Execution[];
}

export interface Agent {
  name: string;
  status: "idle" | "busy";
  currentTask: string | null;
  preset: string;
  command: string;
  skills: string[];
  lastUsedAt: Moment | null;
  done: number;
  failed: number;
  lastError: string | null;
  progress: number | null;
  pid: number | null;
  session: string | null;
  /** How long its process has said nothing. */
  silentS: number | null;
}

export interface Workflow {
  project: string;
  projectPath: string;
  status: WorkflowStatus;
  startedAt: Moment | null;
  lastSavedAt: Moment | null;
  run: string | null;
  /** Why it is paused. */
  why: string;
  warning: string;
  /** It waits for an answer to "resume?". */
  prompt: boolean;
  stopping: boolean;
  maxConcurrent: number;
  running: string[];
  moves: WorkflowVerb[];
}

export interface Deadlock {
  cycle: string[];
  edges: { from: string; to: string; optional: boolean }[];
  optional: boolean;
  /** The dependency that was removed: task, dependency. */
  removed: string[];
  suggestions: string[];
}

export interface Sync {
  added: string[];
  changed: string[];
  removed: string[];
  statuses: { task: string; before: string; after: string; refused: string }[];
  obstacles: string[];
  findings: { [key: string]: Json }[];
  migrated: boolean;
  release: string;
}

export type LineKind = "message" | "tool" | "result" | "error" | "raw" | "system" | "progress";

export interface LogLine {
  at: Moment | null;
  kind: LineKind;
  text: string;
  data: Json;
}

export interface SessionLog {
  lines: LogLine[];
  /** What to ask after. */
  next: number;
  ended: boolean;
  /** The end of what its process has written to stderr. */
  stderr?: string;
}

export interface Health {
  project: string;
  status: HealthStatus;
  score: number | null;
  stuck: string[];
  zombies: string[];
  failures: string[];
  missing: string[];
  checkedAt: Moment | null;
  issues: { kind: "stuck" | "zombie" | "failure" | "missing"; level: "warning" | "error"; subject: string; text: string }[];
}

export interface Report {
  id: string;
  project: string | null;
  type: string;
  generatedAt: Moment;
  body: { [key: string]: Json };
}

/** Names as the seed has them. */
export type EventName = "task:statusChanged" | "claude:started" | "claude:stream" | "claude:complete" | "claude:error" | "dashboard:update";
