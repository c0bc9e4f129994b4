/** For what a queued execution waits, in a few words: the limit that has no place for it. */
import type { Execution, ExecutionShort } from "../api/types";
import type { Dictionary } from "../words/ko";

export function waitsFor({ why, pipelineName }: Pick<Execution | ExecutionShort, "why" | "pipelineName">, t: Dictionary): string {
  const limit = why.find(({ kind }) => kind === "limit");
  return (limit?.what && t.pipeline.limitOf[limit.what]?.(pipelineName, limit.of ?? 0)) || t.pipeline.rowPending;
}
