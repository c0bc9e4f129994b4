/** One definition: its drawing, text, versions and changes, the findings of its check, and what may be done with it. */
import "../run/run.css";
import "./definitions.css";
import { FilePlus2, Play, Waypoints } from "lucide-react";
import { useEffect, useMemo, useState, type ReactNode } from "react";
import { useGet } from "../api/cache";
import type { Definition, Finding, Page, Version, VersionWhole } from "../api/types";
import { Ago, Button, Failed, Segment, Skeleton } from "../components";
import { anchorOf, type Anchor } from "../components/Dialog";
import { useNarrow } from "../components/useNarrow";
import { recognise, titleOf, useDefinitionParts } from "../languages";
import type { DefinitionParts } from "../languages/contract";
import { useFrame } from "../shell/chrome";
import { Link, useParam } from "../shell/router";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { person } from "../words/why";
import { Changes } from "./Changes";
import { marksOf, useComparison, useOtherVersion } from "./comparison";
import { DrawingPane, type Playback } from "./DrawingPane";
import { Findings } from "./Findings";
import { useInspection, type Inspection } from "./inspection";
import { Inspector } from "./Inspector";
import { RELEASE_ICON, ReleaseDialog } from "./ReleaseDialog";
import { definitionPath, type ReleaseVerb } from "./requests";
import { SourceView } from "./SourceView";
import { StartDialog } from "./StartDialog";
import { StatusBadge } from "./StatusBadge";
import { useWaiting } from "./waiting";

const PERMISSION: Record<ReleaseVerb, string> = { approve: "definition.approve", reject: "definition.approve", activate: "definition.activate", deprecate: "definition.activate" };

export default function DefinitionPage({ name, version }: { name: string; version: number | null }): ReactNode {
  const { t } = useWords();
  const versions = useGet<Page<Version>>(`${definitionPath(name)}/versions?limit=200`);
  const all = versions.data?.items;
  const number = version ?? all?.find((candidate) => candidate.status === "active")?.version ?? all?.[0]?.version ?? null;
  const answer = useGet<VersionWhole>(number === null ? null : definitionPath(name, number));
  const shown = answer.data;
  useFrame([{ text: t.nav.definitions, to: "/definitions" }, { text: shown ? titleOf(shown) : name }]);
  const error = versions.error ?? answer.error;
  if (!all || !shown) return error ? <Failed page error={error} retry={versions.reload} /> : <PageSkeleton />;
  return <VersionPage key={number} version={shown} all={all} />;
}

function PageSkeleton(): ReactNode {
  return <div className="pad"><Skeleton h={60} n={2} /><Skeleton h={360} /></div>;
}

/** Finds out the language, and what it brings. */
function VersionPage({ version, all }: { version: VersionWhole; all: Version[] }): ReactNode {
  const text = useMemo(() => JSON.stringify(version.document, null, 2), [version.document]);
  const inspection = useInspection(text, 0);
  const list = useGet<Page<Definition>>("/definitions?limit=200");
  const listed = list.data?.items.find((definition) => definition.name === version.name);
  const language = inspection.inspected?.language ?? listed?.language ?? recognise(version.document);
  const parts = useDefinitionParts(language);
  // a view under another language later would lose what has been opened in it
  const unknown = language === "" && (inspection.busy || (!list.data && !list.error));
  if (unknown || !parts) return <PageSkeleton />;
  return <VersionView key={language} version={version} all={all} text={text} inspection={inspection} openRuns={listed?.open_runs ?? 0} language={language} parts={parts} />;
}

interface Props {
  version: VersionWhole;
  all: Version[];
  text: string;
  inspection: Inspection;
  openRuns: number;
  language: string;
  parts: DefinitionParts;
}

function VersionView({ version, all, text, inspection, openRuns, language, parts }: Props): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  const { me } = useSession();
  const phone = useNarrow();
  const [wanted, setTab] = useParam("tab");
  const [node, setNode] = useParam("node");
  const { inspected, problem, busy } = inspection;
  const [playback, setPlayback] = useState<Playback | null>(null);
  const [line, setLine] = useState<number | null>(null);
  const [dialog, setDialog] = useState<{ verb: ReleaseVerb | "start"; anchor: Anchor | null } | null>(null);
  const other = useOtherVersion(version, all);
  const details = parts.useDetails({ version, alone: other === null });
  const comparison = useComparison(version, other, language, details.base);
  const waiting = useWaiting(version.name, version.version, language, openRuns);
  useEffect(() => setLine(node ? lineOf(text, node) : null), [node, text]);
  const tabs = [...details.tabs.map(({ id, text: label }) => ({ id, text: label })), { id: "source", text: d.source }, { id: "diff", text: d.diff }, { id: "history", text: d.versionsN(all.length) }];
  const first = tabs[0]?.id ?? "source";
  const tab = tabs.find(({ id }) => id === wanted)?.id ?? first;
  const ownTab = details.tabs.find(({ id }) => id === tab);
  const pick = (finding: Finding) => {
    if (finding.node) setNode(finding.node);
    if (finding.where.line > 0) { setTab("source"); setLine(finding.where.line); }
  };
  const permission = (verb: ReleaseVerb) => (details.review && (verb === "approve" || verb === "reject") ? details.review.permission : PERMISSION[verb]);
  const verbs = (version.moves as ReleaseVerb[]).filter((verb) => verb in PERMISSION && may(me, permission(verb)) && details.ready);
  const startable = may(me, "run.start") && (version.status === "active" || version.status === "approved") && !details.contents;
  const graph = inspected?.graph ?? null;
  const compares = tab === "diff" || !!ownTab?.compares;
  const marks = useMemo(() => (compares ? marksOf(comparison.differences) : undefined), [compares, comparison.differences]);
  return (
    <div className="def">
      <header className="def-head">
        <div className="grow">
          <h1>{titleOf(version)} <StatusBadge status={version.status} /></h1>
          <p className="run-meta">
            <span className="mono">{version.name}</span>
            <label className="def-version"><span className="sr">{t.runs.version}</span>
              <select className="input" value={version.version} onChange={(event) => goToVersion(version.name, Number(event.target.value))}>{all.map((each) => <option key={each.version} value={each.version}>v{each.version} · {d.status[each.status] ?? each.status}</option>)}</select>
            </label>
            <span>{d.changedBy(version.created_by ? person(version.created_by, t) : d.nobody)} <Ago time={version.created_at} /></span>
            {version.approved_by && <span>{d.approvedBy(person(version.approved_by, t))}</span>}
          </p>
          {version.feedback && <p className="ink-failed">{d.feedback}: {version.feedback}</p>}
        </div>
        <div className="run-moves">
          {verbs.map((verb) => <Button key={verb} look={verb === "reject" || verb === "deprecate" ? "danger" : verb === "approve" ? "primary" : "plain"} icon={RELEASE_ICON[verb]} onClick={(event) => setDialog({ verb, anchor: anchorOf(event.currentTarget) })}>{d.deed[verb]}</Button>)}
          {may(me, "definition.write") && <Link className="btn" to={`/definitions?new=${encodeURIComponent(version.name)}`}><FilePlus2 size={15} aria-hidden />{d.newVersion}</Link>}
          <Link className="btn" to={`/runs?name=${encodeURIComponent(version.name)}`}><Waypoints size={15} aria-hidden />{d.openRuns(openRuns)}</Link>
          {startable && <Button look="primary" icon={Play} disabled={!inspected} onClick={(event) => setDialog({ verb: "start", anchor: anchorOf(event.currentTarget) })}>{d.startRun}</Button>}
        </div>
      </header>
      <div className={`def-body ${node && graph && !phone ? "def-open" : ""}`}>
        <div className="def-left">
          <div className="def-tabs">
            <Segment label={d.looks} value={tab} onChange={(next) => setTab(next === first ? null : next)} options={tabs} />
            {details.tools}
          </div>
          <div className="def-scroll" tabIndex={-1}>
            {ownTab?.body({ comparison, waiting, onPick: setNode })}
            {tab === "source" && <SourceView text={text} findings={inspected?.findings ?? []} at={line} label={d.source} />}
            {tab === "diff" && <Changes version={version} all={all} comparison={comparison} language={language} text={text} onPick={setNode} />}
            {tab === "history" && <VersionHistory all={all} current={version.version} />}
          </div>
        </div>
        <div className="def-right">
          {details.contents ? <div className="def-picture def-nothing">{details.contents}</div>
            : inspected?.graph ? <DrawingPane inspected={inspected} old={false} counts={waiting.counts} marks={marks} playback={playback} onPlay={setPlayback} selected={node} onPick={setNode} />
            : <div className="def-picture def-nothing">{busy ? <Skeleton h={48} n={3} /> : <p className="dim">{d.notDrawn}</p>}</div>}
          <Findings inspected={inspected} problem={problem} busy={busy} playback={playback} onPlay={setPlayback} onPick={pick} />
        </div>
        {node && graph && <Inspector document={version.document} graph={graph} node={node} running={{ name: version.name, waiting }} onPick={setNode} />}
      </div>
      {dialog?.verb === "start" && <StartDialog name={version.name} title={titleOf(version)} language={language} version={version.version} schema={inspected?.input_schema ?? null} document={version.document} anchor={dialog.anchor} onClose={() => setDialog(null)} />}
      {dialog && dialog.verb !== "start" && <ReleaseDialog version={version} review={details.review} verb={dialog.verb} open={openRuns} anchor={dialog.anchor} onClose={() => setDialog(null)} />}
    </div>
  );
}

function goToVersion(name: string, version: number): void {
  history.pushState(null, "", `${definitionPath(name, version)}${location.search}`);
  window.dispatchEvent(new PopStateEvent("popstate"));
}

/** The line of the text where a node is written. */
function lineOf(text: string, node: string): number | null {
  const index = text.split("\n").findIndex((line) => new RegExp(`"(id|label)":\\s*${JSON.stringify(node).replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`).test(line));
  return index < 0 ? null : index + 1;
}

function VersionHistory({ all, current }: { all: Version[]; current: number }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  return (
    <ol className="def-history">
      {all.map((version) => (
        <li key={version.version} aria-current={version.version === current ? "true" : undefined}>
          <p><Link to={definitionPath(version.name, version.version)}><b>v{version.version}</b></Link> <StatusBadge status={version.status} /> <span className="dim"><Ago time={version.created_at} /> · {version.created_by ? person(version.created_by, t) : d.nobody}</span></p>
          {version.change_summary && <p className="dim">{version.change_summary}</p>}
          {version.feedback && <p className="ink-failed">{version.feedback}</p>}
        </li>
      ))}
    </ol>
  );
}
