/** The stages of an execution as one bar: a segment each, groups stacked between two lines; n/m and a name below it. */
import type { ReactNode } from "react";
import { useWords } from "../words";
import { groupsOf, stageTone } from "./tones";
import type { StageShort } from "../api/types";

export function StageBar({ stages }: { stages: StageShort[] }): ReactNode {
  const { t, f } = useWords();
  const p = t.pipeline;
  const done = stages.filter((stage) => stage.status === "COMPLETED" || stage.status === "SKIPPED").length;
  const here = stages.find((stage) => stage.status === "FAILED" || stage.status === "TIMEOUT") ?? stages.find((stage) => stage.status === "RUNNING" || stage.status === "STARTED");
  const shown = done < stages.length ? here : undefined;
  const told = stages.map((stage) => `${stage.stageName}: ${stage.status ? (p.stageStatus[stage.status] ?? stage.status) : p.notReached}${stage.durationMs ? ` · ${f.duration(stage.durationMs)}` : ""}`);
  return (
    <span className="stages" title={told.join("\n")}>
      <span className="stage-bar" role="img" aria-label={told.join(", ")}>
        {groupsOf(stages).map((group) => (
          <span key={group[0]?.stageCode} className={group.length > 1 ? "stage-group" : "stage-alone"}>
            {group.map((stage) => <i key={stage.stageCode} className={`tone-${stageTone(stage)} stage-${(stage.status ?? "open").toLowerCase()}`} />)}
          </span>
        ))}
      </span>
      <span className="stages-text">{done}/{stages.length}{shown && ` · ${shown.stageName}`}</span>
    </span>
  );
}
