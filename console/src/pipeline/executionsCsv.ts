/** The executions of a list as a file for a spreadsheet. */
import type { ExecutionShort } from "../api/types";
import { cell } from "../runs/csv";

const COLUMNS = ["executionId", "pipelineCode", "file", "status", "priority", "retryCount", "errorStage", "errorCode", "errorMessage", "createdAt", "startedAt", "completedAt", "durationMs", "tenantId", "traceId"] as const;

export function csvOf(items: ExecutionShort[]): string {
  const lines = items.map((item) => {
    const values = { ...item, file: item.file?.key ?? null, errorCode: item.error?.code ?? null, errorMessage: item.error?.message ?? null };
    return COLUMNS.map((name) => cell(values[name])).join(",");
  });
  return `\ufeff${COLUMNS.join(",")}\r\n${lines.map((line) => `${line}\r\n`).join("")}`;
}
