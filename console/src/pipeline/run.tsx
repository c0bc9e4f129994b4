/** The page of an execution: its header, its files, and the tabs of a stage. */
import "./pipeline.css";
import { Ban, Copy, ListRestart } from "lucide-react";
import { useMemo, type ReactNode } from "react";
import { useGet } from "../api/cache";
import type { Dict, Json, Run, VersionWhole } from "../api/types";
import type { RunContext, RunParts, RunTabs } from "../languages/contract";
import { JsonView } from "../run/Panel";
import { useWords } from "../words";
import { ExecutionHeader } from "./ExecutionHeader";
import { OutputFields } from "./OutputFields";
import { FilesSection } from "./FilesSection";
import { nameOf } from "./files";
import { lastTime } from "./lastTime";
import { executionPath, fileUrl } from "./requests";
import type { Execution, Stage } from "../api/types";

export const runParts: RunParts = {
  useTabs: useStageTabs,
  crumbs: (run, t) => [{ text: t.pipeline.title, to: "/pipelines" }, { text: run.title, to: `/pipelines?pipeline=${encodeURIComponent(run.name)}` }],
  useNotes: useExtractionNotes,
  Header: ExecutionHeader,
  Middle: FilesSection,
  timeline: (run, t) => ({ name: t.pipeline.stageLog, about: t.pipeline.stageLogSub(run.firing_count, run.attempt_count) }),
};

function useStageTabs({ run, node }: RunContext): RunTabs {
  const { t } = useWords();
  const { data: execution } = useGet<Execution>(executionPath(run.id));
  const { data: version } = useGet<VersionWhole>(node && run.definition.version !== null ? `/definitions/${encodeURIComponent(run.definition.name)}/versions/${run.definition.version}` : null);
  const stage = execution?.stages.find((each) => each.stageCode === node);
  if (!execution || !stage) return { tabs: [], first: null };
  const settings = settingsOf(version?.document, stage.stageCode);
  return {
    tabs: [
      { id: "stage", text: t.pipeline.tabs.stage, count: 1, body: <StageTab execution={execution} stage={stage} /> },
      ...(settings ? [{ id: "settings", text: t.pipeline.tabs.settings, count: Object.keys(settings).length, body: <SettingsTab settings={settings} /> }] : []),
    ],
    first: null,
  };
}

/** Events that stages have published: a capsule at the foot of each. */
function useExtractionNotes(run: Run): Record<string, string> {
  const { t } = useWords();
  const { data: execution } = useGet<Execution>(executionPath(run.id));
  return useMemo(() => Object.fromEntries((execution?.stages ?? []).flatMap(({ stageCode, extraction }) => (extraction ? [[stageCode, t.pipeline.extracted(extraction.published)]] : []))), [execution?.stages, t]);
}

function settingsOf(document: Dict | undefined, code: string): Dict | null {
  const stages = document?.["stages"];
  const stage = Array.isArray(stages) ? stages.find((each) => typeof each === "object" && each !== null && !Array.isArray(each) && each["stage_code"] === code) : undefined;
  return (stage as Dict | undefined) ?? null;
}

function Row({ name, children }: { name: string; children: ReactNode }): ReactNode {
  return <div className="kv"><dt>{name}</dt><dd>{children}</dd></div>;
}

export function StageTab({ execution, stage }: { execution: Execution; stage: Stage }): ReactNode {
  const { t, f, typeWord } = useWords();
  const p = t.pipeline;
  const at = execution.stages.indexOf(stage) + 1;
  const usage = Object.entries(stage.usage ?? {}).filter((entry): entry is [string, number] => typeof entry[1] === "number" && entry[1] > 0);
  return (
    <>
      <section>
        <dl>
          <Row name={p.stage}>{t.common.of(at, execution.stages.length)}</Row>
          <Row name={p.processor}>{typeWord("pipeline", stage.processorType)} <code className="dim">{stage.processorType}</code></Row>
          <Row name={p.stageStatusRow}>{stage.status ? (p.stageStatus[stage.status] ?? stage.status) : p.notReached}</Row>
          {stage.extraction && <Row name={p.extraction}>{stage.extraction.extractionType}{stage.extraction.method && ` · ${stage.extraction.method}`}{stage.extraction.confidence !== null && ` · ${f.number(stage.extraction.confidence)}`}</Row>}
          {stage.durationMs !== null && <Row name={t.run.tookRow}>{f.duration(stage.durationMs)}</Row>}
          <Row name={p.retries}>{stage.retryCount}</Row>
          {stage.outputRef && <Row name={p.outputFile}><a href={`${fileUrl(execution.executionId, stage.stageCode)}?download=true`} download={nameOf(stage.outputRef)}>{nameOf(stage.outputRef)}</a>{stage.size !== null && ` · ${f.bytes(stage.size)}`}</Row>}
          {usage.map(([name, amount]) => <Row key={name} name={p.usageNames[name] ?? name}>{name.endsWith("_ms") ? f.duration(amount) : /bytes|rss/.test(name) ? f.bytes(amount) : f.number(amount)}</Row>)}
        </dl>
      </section>
      {stage.error && <section><div className="failure"><p className="failure-code">{stage.error.code}</p><p>{stage.error.message}</p></div></section>}
      {stage.output !== null && stage.output !== undefined && <section><h3>{t.run.output}</h3><OutputFields value={stage.output} /></section>}
      {(execution.status === "FAILED" || execution.status === "TIMEOUT") && <WhatWouldHappen execution={execution} />}
    </>
  );
}

function WhatWouldHappen({ execution }: { execution: Execution }): ReactNode {
  const { t, f } = useWords();
  const p = t.pipeline;
  const from = execution.stages.find((stage) => stage.stageCode === execution.errorStage);
  return (
    <section className="would">
      <h3>{p.would}</h3>
      <p><ListRestart size={15} aria-hidden /><span><b>{p.resume}</b> {p.wouldResume(from?.stageName ?? "")}</span></p>
      <p><Copy size={15} aria-hidden /><span><b>{p.rerun}</b> {p.wouldRerun(execution.stages.length)} {lastTime(execution.stages, t, f)}</span></p>
      <p><Ban size={15} aria-hidden /><span><b>{p.cancel}</b> {p.cancelOnlyRunning} <code>PP-409-STATE</code></span></p>
    </section>
  );
}

function SettingsTab({ settings }: { settings: Dict }): ReactNode {
  const plain = Object.entries(settings).filter(([, value]) => typeof value !== "object" || value === null);
  const deep = Object.entries(settings).filter(([, value]) => typeof value === "object" && value !== null);
  return (
    <>
      <section><dl className="vars">{plain.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{String(value)}</dd></div>)}</dl></section>
      {deep.map(([name, value]) => <section key={name}><h3 className="mono">{name}</h3><JsonView value={value as Json} /></section>)}
    </>
  );
}
