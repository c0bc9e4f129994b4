/** The header of an execution: its file, how it stands, why, and what can be done about it. */
import { Ban, ChevronLeft, ChevronRight, Copy, Download, FileInput, FileBraces, Hourglass, ListOrdered, ListRestart, Play, Timer, TriangleAlert, Upload, type LucideIcon } from "lucide-react";
import { useState, type ReactNode } from "react";
import { stale, useGet } from "../api/cache";
import type { Run, Tone } from "../api/types";
import { Badge, Button, Copyable, Skeleton, toneIcon } from "../components";
import { anchorOf, type Anchor } from "../components/Dialog";
import { toast } from "../components/toast";
import type { RunHeaderProps } from "../languages/contract";
import { Header } from "../run/Header";
import { go, Link } from "../shell/router";
import { may, useSession } from "../shell/session";
import { useNow, useWords } from "../words";
import type { Format } from "../words/format";
import type { Dictionary } from "../words/ko";
import { Rich } from "../words/rich";
import { whySentence } from "../words/why";
import { ConfirmMove, type ExecutionMove } from "./ConfirmMove";
import { nameOf } from "./files";
import { neighbours } from "./listNeighbours";
import { executionPath, fileUrl } from "./requests";
import { standing } from "./executionTone";
import { waitsFor } from "./waitReason";
import type { Execution } from "../api/types";

/** What trying again cannot cure: the definition or the file has to change. */
const NEEDS_CHANGE = new Set(["VALIDATION", "RESOURCE_LIMIT"]);

export function ExecutionHeader(props: RunHeaderProps): ReactNode {
  const { data, error } = useGet<Execution>(executionPath(props.run.id));
  if (data) return <Told run={props.run} execution={data} />;
  // who may not see it as an execution sees it as a run; until that is known no move is offered
  return error ? <Header {...props} /> : <header className="run-head"><h1 className="sr">{props.run.title}</h1><Skeleton h={46} n={2} /></header>;
}

/** What the header needs of a run. */
export type HeadOfRun = Pick<Run, "id" | "active_ms" | "started_at" | "ended_at" | "why">;

export function Told({ run, execution }: { run: HeadOfRun; execution: Execution }): ReactNode {
  const { t, f } = useWords();
  const p = t.pipeline;
  const { me } = useSession();
  const now = useNow(1000);
  const [asked, setAsked] = useState<{ move: ExecutionMove; anchor: Anchor | null } | null>(null);
  const { tone, state, word } = standing(execution, t);
  const { file, status } = execution;
  const rested = restedMs(run, now);
  const around = neighbours(execution.executionId);
  const ask = (move: ExecutionMove, from: Element) => setAsked({ move, anchor: anchorOf(from) });
  const done = (move: ExecutionMove, made: string | null) => {
    setAsked(null);
    stale(executionPath(execution.executionId), `/runs/${run.id}`, "/pipelines/");
    if (made) toast(p.rerunStarted, { act: { text: p.openNew, run: () => go(`/pipelines/${made}`) } });
    else toast(move === "cancel" ? p.cancelAccepted : p.resumeAccepted);
  };
  return (
    <header className="run-head">
      <div className="run-title">
        <div className="grow">
          <h1>{file ? nameOf(file.key) : execution.pipelineName}<Badge tone={tone} state={state}>{word}</Badge></h1>
          <p className="run-meta">
            <span><FileInput size={14} aria-hidden /><Link to={`/definitions/${encodeURIComponent(execution.pipelineCode)}`}>{execution.pipelineName}</Link></span>
            <span className="mono">{execution.pipelineCode} · v{execution.version}</span>
            <span><Upload size={14} aria-hidden />{p.trigger[execution.triggerType] ?? execution.triggerType} {f.when(execution.createdAt, now)}</span>
            <span><Timer size={14} aria-hidden />{t.run.active(f.duration(run.active_ms))}{rested > 1000 && ` · ${p.rested(f.duration(rested))}`}</span>
            <span><ListOrdered size={14} aria-hidden />{p.priorityN(execution.priority)}</span>
            <span>{execution.tenantId}</span>
            <span>{t.run.trace} <Copyable text={execution.traceId} show={`${execution.traceId.slice(0, 8)}…`} /></span>
            {execution.parentExecutionId && <Link to={`/pipelines/${execution.parentExecutionId}`}>{p.rerunOf}</Link>}
          </p>
        </div>
        <div className="run-moves">
          {around && (
            <span className="walk-list">
              <Button look="icon" aria-label={p.previousOne} disabled={!around.previous} onClick={() => around.previous && go(`/pipelines/${around.previous}`)}><ChevronLeft size={16} aria-hidden /></Button>
              <span className="dim">{t.common.of(around.at, around.of)} {around.name}</span>
              <Button look="icon" aria-label={p.nextOne} disabled={!around.next} onClick={() => around.next && go(`/pipelines/${around.next}`)}><ChevronRight size={16} aria-hidden /></Button>
            </span>
          )}
          {file && <a className="btn" href={`${fileUrl(execution.executionId, null)}?download=true`} download={nameOf(file.key)}><Download size={15} strokeWidth={1.9} aria-hidden />{p.originalFile}</a>}
          <CancelButton execution={execution} allowed={may(me, "pipeline.cancel")} onAsk={(from) => ask("cancel", from)} />
        </div>
      </div>
      <WhyBar run={run} execution={execution} now={now} onAsk={may(me, "pipeline.retry") && (status === "FAILED" || status === "TIMEOUT") ? ask : null} />
      {asked && <ConfirmMove key={asked.move} move={asked.move} anchor={asked.anchor} execution={execution} onClose={() => setAsked(null)} onDone={(made) => done(asked.move, made)} />}
    </header>
  );
}

/** It keeps its place: outside of RUNNING it says why it cannot be pressed. */
function CancelButton({ execution: { status, cancelRequested }, allowed, onAsk }: { execution: Execution; allowed: boolean; onAsk: (from: Element) => void }): ReactNode {
  const { t } = useWords();
  const p = t.pipeline;
  const why = !allowed ? t.error.forbidden("pipeline.cancel") : status !== "RUNNING" ? p.cancelOnlyRunning : cancelRequested ? p.cancellingLong : undefined;
  return <Button look="danger" icon={Ban} disabled={why !== undefined} title={why} onClick={(event) => onAsk(event.currentTarget)}>{status === "RUNNING" && cancelRequested ? p.cancelling : p.cancel}</Button>;
}

function WhyBar({ run, execution, now, onAsk }: { run: HeadOfRun; execution: Execution; now: number; onAsk: ((move: ExecutionMove, from: Element) => void) | null }): ReactNode {
  const { t, f } = useWords();
  const p = t.pipeline;
  const { tone, state } = standing(execution, t);
  const curable = !NEEDS_CHANGE.has(execution.error?.code ?? "");
  const look: Tone = execution.status === "COMPLETED" && execution.warnings.length ? "held" : tone;
  const Icon: LucideIcon = look === "failed" || execution.status === "COMPLETED" && execution.warnings.length ? TriangleAlert : look === "held" && state !== "RETRYING" ? Hourglass : look === "moving" ? Play : toneIcon(look, state);
  return (
    <div className={`why tone-${look}`} role="status">
      <Icon size={17} strokeWidth={1.9} aria-hidden />
      <p className="grow"><Rich text={sentence(run, execution, now, t, f)} />{execution.error && execution.status !== "COMPLETED" && <> <code className="ink-failed">{execution.error.code}</code></>}</p>
      {onAsk && <Button icon={Copy} onClick={(event) => onAsk("rerun", event.currentTarget)}>{p.rerun}</Button>}
      {onAsk && <Button look={curable ? "primary" : "plain"} icon={ListRestart} onClick={(event) => onAsk("resume", event.currentTarget)}>{p.resume}</Button>}
      {onAsk && !curable && <Link className="btn btn-primary" to={`/definitions/${encodeURIComponent(execution.pipelineCode)}${execution.errorStage ? `?node=${encodeURIComponent(execution.errorStage)}` : ""}`}><FileBraces size={15} aria-hidden />{p.openDefinition}</Link>}
    </div>
  );
}

/** One sentence: what happened, to which stage, and what is kept or comes next. */
function sentence(run: HeadOfRun, execution: Execution, now: number, t: Dictionary, f: Format): string {
  const p = t.pipeline;
  const { status, stages, error, nextAttemptAt } = execution;
  const done = stages.filter((stage) => stage.status === "COMPLETED").length;
  const failed = stages.find((stage) => stage.stageCode === execution.errorStage);
  const name = failed?.stageName ?? execution.errorStage ?? execution.pipelineName;
  const tries = (failed?.retryCount ?? 0) + 1;
  if (status === "FAILED") return p.whyFailed(name, tries, error?.message ?? "", done);
  if (status === "TIMEOUT") return p.whyTimeout(name, done);
  if (status === "CANCELLED") return p.whyCancelled(done);
  if (status === "COMPLETED") return execution.warnings.length ? p.whyWarned(execution.warnings.map((warning) => stages.find((stage) => stage.stageCode === warning.stage)?.stageName ?? warning.stage).join(", ")) : p.whyDone(f.duration(execution.durationMs ?? 0), stages.length);
  if (status === "PENDING") return error && nextAttemptAt ? p.whyRetrying(f.duration(Math.max(0, Date.parse(nextAttemptAt) - now)), execution.retryCount + 1, execution.maxRetries + 1) : `${p.whyPending(f.duration(now - Date.parse(execution.createdAt)))}${execution.why.some(({ kind }) => kind === "limit") ? ` ${waitsFor(execution, t)}.` : ""}`;
  const working = stages.filter((stage) => stage.status === "RUNNING" || stage.status === "STARTED").map((stage) => stage.stageName);
  if (execution.cancelRequested) return p.whyCancelling(working.join(", "));
  if (run.why[0]) return whySentence(run.why[0], { t, f, now });
  return working.length ? p.whyRunning(working.join(", ")) : p.whyBetween;
}

/** How long it has waited between attempts and for its turn. */
function restedMs(run: HeadOfRun, now: number): number {
  const started = run.started_at ? Date.parse(run.started_at) : now;
  return Math.max(0, (run.ended_at ? Date.parse(run.ended_at) : now) - started - run.active_ms);
}
