/** Addresses of the plans' API, and what people ask of tasks, workflows and worktrees. */
import { call, post, query } from "../api/client";
import type { Addresses } from "../languages/contract";
import type { Sync, TaskVerb, WorkflowVerb } from "./types";

export const PROJECTS = "/projects";
export const ADDRESSES: Addresses = { run: () => [], lists: [PROJECTS], definitions: [] };

export const projectPath = (project: string): string => `${PROJECTS}/${encodeURIComponent(project)}`;
export const tasksPath = (project: string): string => `${projectPath(project)}/tasks`;
export const taskPath = (project: string, task: string): string => `${tasksPath(project)}/${encodeURIComponent(task)}`;
export const agentsPath = (project: string): string => `${projectPath(project)}/agents`;
export const statePath = (project: string): string => `${projectPath(project)}/workflow/state`;
export const healthPath = (project: string): string => `${projectPath(project)}/health`;
export const deadlocksPath = (project: string): string => `${projectPath(project)}/deadlocks`;
export const syncPath = (project: string): string => `${projectPath(project)}/sync`;
export const executionsPath = (project: string, limit: number): string => `${projectPath(project)}/executions${query({ limit })}`;
export const sessionPath = (project: string, session: string): string => `${projectPath(project)}/executions/${encodeURIComponent(session)}`;
export const logPath = (project: string, session: string, after: number, limit: number): string => `${sessionPath(project, session)}/log${query({ after, limit })}`;
export const REPORTS = "/reports";
export const reportsPath = (of: Record<string, string | number | null>): string => `${REPORTS}${query(of)}`;

export type Given = { queue?: boolean; comment?: string; reason?: string; notes?: string };

export const moveTask = (project: string, task: string, verb: TaskVerb, given: Given, key: string): Promise<unknown> =>
  post(`${taskPath(project, task)}:${verb}`, given, key);

export const moveWorkflow = (project: string, verb: WorkflowVerb, force: boolean, key: string): Promise<unknown> =>
  post(`${projectPath(project)}/workflow:${verb === "stop-now" ? "stop" : verb}`, verb === "start" ? { force } : verb === "stop-now" ? { now: true } : {}, key);

export type WorktreeVerb = "merge" | "keep" | "discard";
export const moveWorktree = (project: string, task: string, action: WorktreeVerb, key: string): Promise<unknown> => post(`${taskPath(project, task)}/worktree`, { action }, key);

export const applySync = (project: string, key: string): Promise<Sync> => post<Sync>(`${projectPath(project)}:sync`, {}, key);
export const checkHealth = (project: string): Promise<unknown> => post(`${projectPath(project)}:check`);
export const addTask = (project: string, fields: Record<string, unknown>, key: string): Promise<{ id: string }> => post<{ id: string }>(tasksPath(project), fields, key);
export const changeDependencies = (project: string, task: string, dependsOn: unknown[], key: string): Promise<unknown> => call(taskPath(project, task), { method: "PATCH", body: { dependsOn }, key });
