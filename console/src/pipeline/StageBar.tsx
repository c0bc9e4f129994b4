/** The stages of an execution as one bar: a segment each, groups stacked between two lines; n/m and a name below it. Under
    the pointer or the focus they are listed with how long each took. */
import type { ReactNode } from "react";
import { useWords } from "../words";
import { groupsOf, stageTone } from "./executionTone";
import type { StageShort } from "../api/types";

export function StageBar({ stages }: { stages: StageShort[] }): ReactNode {
  const { t, f } = useWords();
  const p = t.pipeline;
  const done = stages.filter((stage) => stage.status === "COMPLETED" || stage.status === "SKIPPED").length;
  const here = stages.find((stage) => stage.status === "FAILED" || stage.status === "TIMEOUT") ?? stages.find((stage) => stage.status === "RUNNING" || stage.status === "STARTED");
  const shown = done < stages.length ? here : undefined;
  const told = stages.map((stage) => ({ stage, status: stage.status ? (p.stageStatus[stage.status] ?? stage.status) : p.notReached, took: stage.durationMs !== null && stage.durationMs !== undefined ? f.duration(stage.durationMs) : "" }));
  return (
    <span className="stages" tabIndex={0} role="group" aria-label={told.map(({ stage, status, took }) => `${stage.stageName}: ${status}${took && ` · ${took}`}`).join(", ")}>
      <span className="stage-bar" aria-hidden>
        {groupsOf(stages).map((group) => (
          <span key={group[0]?.stageCode} className={group.length > 1 ? "stage-group" : "stage-alone"}>
            {group.map((stage) => <i key={stage.stageCode} className={`tone-${stageTone(stage)} stage-${(stage.status ?? "open").toLowerCase()}`} />)}
          </span>
        ))}
      </span>
      <span className="stages-text">{done}/{stages.length}{shown && ` · ${shown.stageName}`}</span>
      <span className="stages-list" aria-hidden>
        {told.map(({ stage, status, took }) => <span key={stage.stageCode} className={`tone-${stageTone(stage)}`}><b>{stage.stageName}</b><span>{status}</span><span className="num">{took}</span></span>)}
      </span>
    </span>
  );
}
