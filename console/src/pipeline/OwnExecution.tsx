/** An execution for who belongs to one organisation: they see no runs, and so neither its net nor its facts. */
import { useState, type ReactNode } from "react";
import { useGet, useLast } from "../api/cache";
import type { Execution } from "../api/types";
import { Card, Failed, Skeleton } from "../components";
import { useFrame } from "../shell/chrome";
import { useWords } from "../words";
import { Told } from "./ExecutionHeader";
import { FilesSection } from "./FilesSection";
import { executionPath } from "./requests";
import { StageTab } from "./run";

export function OwnExecution({ id }: { id: string }): ReactNode {
  const { t } = useWords();
  const answer = useGet<Execution>(executionPath(id));
  const execution = useLast(answer.data);
  const [node, setNode] = useState<string | null>(null);
  useFrame([{ text: t.pipeline.title, to: "/pipelines" }, { text: id.slice(0, 8), mono: true }]);
  if (!execution) return answer.error ? <Failed page error={answer.error} retry={answer.reload} /> : <div className="pad"><Skeleton h={60} n={2} /><Skeleton h={240} /></div>;
  const run = { id, active_ms: execution.durationMs ?? 0, started_at: execution.startedAt ?? execution.createdAt, ended_at: execution.completedAt, why: execution.why };
  return (
    <div className="own-execution">
      <Told run={run} execution={execution} />
      <FilesSection run={run} node={node} onPick={setNode} />
      <div className="own-stages">
        {execution.stages.map((stage) => <Card key={stage.stageCode} label={stage.stageName}><div className="card-head"><h2>{stage.stageName}</h2></div><StageTab execution={execution} stage={stage} /></Card>)}
      </div>
    </div>
  );
}
