/** The compensation of an instance: its steps in their order, what each ran, and what failed. */
import { Ban, Check, CircleDashed, Clock3, Undo2, X, type LucideIcon } from "lucide-react";
import { Fragment, type ReactNode } from "react";
import type { Graph, Instance, Run, Tone, UndoStep } from "../api/types";
import { Badge } from "../components";
import { setSearch } from "../shell/router";
import { useWords } from "../words";
import { Rich } from "../words/rich";
import { WorkItemRecord } from "./Transcript";

const LOOK: Record<string, { tone: Tone; icon: LucideIcon }> = {
  PENDING: { tone: "idle", icon: Clock3 }, EXECUTED: { tone: "undone", icon: Undo2 }, FAILED: { tone: "failed", icon: X }, SKIPPED: { tone: "idle", icon: CircleDashed }, CANCELLED: { tone: "idle", icon: Ban },
};
const OVERALL: Record<string, { tone: Tone; icon: LucideIcon }> = { COMPLETE: { tone: "undone", icon: Check }, PARTIAL: { tone: "failed", icon: X }, NONE: { tone: "idle", icon: CircleDashed } };

export function Compensation({ run, instance, graph }: { run: Run; instance: Instance; graph: Graph | undefined }): ReactNode {
  const { t, stateWord } = useWords();
  const w = t.work;
  const { steps, status } = instance.compensation;
  const label = (id: string) => graph?.nodes.find((node) => node.id === id)?.label ?? id;
  const look = OVERALL[status] ?? { tone: "moving" as const, icon: Undo2 };
  const failed = instance.workitems.find((item) => item.activity_id === instance.failed_activity_id && item.error);
  if (steps.length === 0) return <section><p className="dim">{w.undoNone}</p></section>;
  return (
    <section className="undoing">
      <div className="panel-line"><h3>{w.undoSteps}</h3><Badge tone={run.state === "COMPENSATING" ? "moving" : look.tone} icon={look.icon}>{run.state === "COMPENSATING" ? stateWord("COMPENSATING") : w.undoStatus[status]}</Badge></div>
      {instance.failed_activity_id && <p><Rich text={w.undoWhy(label(instance.failed_activity_id))} />{instance.failure_reason && <span className="dim"> {instance.failure_reason}</span>}</p>}
      {failed && <WorkItemRecord id={failed.id} label={w.transcriptOf(failed.activity_name)} />}
      <ol>
        {steps.map((step, i) => (
          <Fragment key={step.seq}>
            {step.parallel_group_id && step.parallel_group_id !== steps[i - 1]?.parallel_group_id && <li className="undo-group">{w.group(label(step.parallel_group_id))}</li>}
            <Step step={step} n={i + 1} />
          </Fragment>
        ))}
      </ol>
    </section>
  );
}

function Step({ step, n }: { step: UndoStep; n: number }): ReactNode {
  const { t, f } = useWords();
  const { tone, icon } = LOOK[step.status] ?? { tone: "idle" as const, icon: CircleDashed };
  return (
    <li className={`undo-step ${step.parallel_group_id ? "undo-in" : ""}`} data-status={step.status}>
      <i aria-hidden>{n}</i>
      <div className="grow">
        <p className="panel-line"><button type="button" className="linklike" onClick={() => setSearch({ node: step.activity_id, tab: "undo" })}>{step.activity_name}</button><Badge tone={tone} icon={icon}>{t.work.stepStatus[step.status] ?? step.status}</Badge></p>
        {step.compensation_action && <p className="dim">{t.work.undoBy(step.compensation_action)}{step.at && <> · <time dateTime={step.at} title={f.title(step.at)}>{f.seconds(step.at)}</time></>}</p>}
        {step.error && <p className="ink-failed">{step.error}</p>}
      </div>
    </li>
  );
}
