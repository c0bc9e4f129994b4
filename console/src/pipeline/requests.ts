/** Addresses of the pipelines' API, and the moves of an execution. */
import { BASE, post, query } from "../api/client";
import type { Addresses } from "../languages/contract";

const EXECUTIONS = "/pipelines/executions";

export const ADDRESSES: Addresses = {
  run: (id) => [executionPath(id)],
  lists: [`${EXECUTIONS}?`, "/pipelines/overview", "/pipelines/dlq"],
  definitions: [],
};

export const executionPath = (id: string): string => `${EXECUTIONS}/${encodeURIComponent(id)}`;
export const executionsPath = (of: Record<string, string | number | null | undefined>): string => `${EXECUTIONS}${query({ size: 20, ...of })}`;

/** What a stage has read or made; without a stage, the file of the execution. */
export const filePath = (id: string, stage: string | null): string => (stage === null ? `${executionPath(id)}/file` : `${executionPath(id)}/stages/${encodeURIComponent(stage)}/output`);
export const fileUrl = (id: string, stage: string | null): string => BASE + filePath(id, stage);

export type RetryMode = "resume" | "rerun";

/** The id of the new execution, when there is one. */
export async function retry(id: string, mode: RetryMode, key: string): Promise<string | null> {
  const answer = await post<{ accepted: boolean; newExecutionId?: string | null }>(`${executionPath(id)}:retry`, { mode }, key);
  return answer.newExecutionId ?? null;
}

export async function cancel(id: string, key: string): Promise<void> {
  await post(`${executionPath(id)}:cancel`, {}, key);
}
