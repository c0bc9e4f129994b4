/** One definition: its picture, its text, its versions and what changed, what a check says, and what may be done with it. */
import "../run/run.css";
import "./definitions.css";
import { Archive, Check, Download, FileDown, FilePlus2, Play, Rocket, Waypoints, X, type LucideIcon } from "lucide-react";
import { useEffect, useMemo, useState, type FormEvent, type ReactNode } from "react";
import { useGet } from "../api/cache";
import { BASE, newKey } from "../api/client";
import type { Definition, Dict, Finding, Page, Process, Version, VersionWhole } from "../api/types";
import { bpmnPath } from "../bpmn/file";
import { Ago, Button, Failed, Segment, Skeleton } from "../parts";
import { anchorOf, Dialog, type Anchor } from "../parts/Dialog";
import { useNarrow } from "../parts/narrow";
import { toast } from "../parts/toast";
import { useFrame } from "../shell/chrome";
import { Link, useParam } from "../shell/router";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { errorText } from "../words/said";
import { person } from "../words/why";
import { Changes, marksOf, useAgainst } from "./Changes";
import { Code } from "./Code";
import { titleOf } from "./Editor";
import { textOf } from "./element";
import { Findings } from "./Findings";
import { useInspecting } from "./inspecting";
import { Inspector } from "./Inspector";
import { Overview } from "./Overview";
import { Picture, type Played } from "./Picture";
import { decide, definitionPath, type Deed } from "./sending";
import { Start } from "./Start";
import { StatusBadge } from "./Status";
import { useWorking } from "./working";

type Tab = "overview" | "source" | "diff" | "history";
const TABS: Tab[] = ["overview", "source", "diff", "history"];
const NEEDS: Record<Deed, string> = { approve: "definition.approve", reject: "definition.approve", activate: "definition.activate", deprecate: "definition.activate" };
const ICON: Record<Deed, LucideIcon> = { approve: Check, reject: X, activate: Rocket, deprecate: Archive };

export default function DefinitionPage({ name, version }: { name: string; version: number | null }): ReactNode {
  const { t } = useWords();
  const versions = useGet<Page<Version>>(`${definitionPath(name)}/versions?limit=200`);
  const all = versions.data?.items;
  const number = version ?? all?.find((one) => one.status === "active")?.version ?? all?.[0]?.version ?? null;
  const answer = useGet<VersionWhole>(number === null ? null : definitionPath(name, number));
  const shown = answer.data;
  useFrame([{ text: t.nav.definitions, to: "/definitions" }, { text: shown ? titleOf(shown) : name }]);
  const error = versions.error ?? answer.error;
  if (!all || !shown) return error ? <Failed page error={error} retry={versions.reload} /> : <div className="pad"><Skeleton h={60} n={2} /><Skeleton h={360} /></div>;
  return <One key={number} version={shown} all={all} />;
}

function One({ version, all }: { version: VersionWhole; all: Version[] }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  const { me } = useSession();
  const phone = useNarrow();
  const [wanted, setTab] = useParam("tab");
  const [node, setNode] = useParam("node");
  const text = useMemo(() => JSON.stringify(version.document, null, 2), [version.document]);
  const { found, problem, busy } = useInspecting(text, 0);
  const [playing, setPlaying] = useState<Played | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const [asked, setAsked] = useState<{ deed: Deed | "start"; anchor: Anchor | null } | null>(null);
  const list = useGet<Page<Definition>>("/definitions?limit=200").data?.items.find((one) => one.name === version.name);
  const language = found?.language ?? list?.language ?? ("process_definition_id" in version.document ? "process" : "");
  const isProcess = language === "process";
  const process = useGet<Process>(isProcess ? `/processes/definitions/${encodeURIComponent(version.name)}?version=${version.version}` : null);
  const against = useAgainst(version, all, language, process.data);
  const working = useWorking(version.name, version.version, language, list?.open_runs ?? 0);
  const tab: Tab = TABS.find((one) => one === wanted && (one !== "overview" || isProcess)) ?? (isProcess ? "overview" : "source");
  useEffect(() => setAt(node ? lineOf(text, node) : null), [node, text]);
  const pick = (finding: Finding) => {
    if (finding.node) setNode(finding.node);
    if (finding.where.line > 0) { setTab("source"); setAt(finding.where.line); }
  };
  // a model that nobody has drawn is let in by who may let in models; what somebody has drawn goes the way of every document
  const model = isProcess && Object.keys(process.data?.origin ?? {}).length > 0;
  const needs = (deed: Deed) => (model && (deed === "approve" || deed === "reject") ? "process.model.approve" : NEEDS[deed]);
  const deeds = (version.moves as Deed[]).filter((one) => one in NEEDS && may(me, needs(one)) && (!isProcess || process.data));
  const starts = may(me, "run.start") && (version.status === "active" || version.status === "approved");
  const container = ["mega", "major"].includes(String(version.document["type"] ?? ""));
  const graph = found?.graph ?? null;
  // what differs is marked where somebody compares
  const compares = tab === "diff" || (tab === "overview" && version.status === "pending_approval");
  const marks = useMemo(() => (compares ? marksOf(against.told) : undefined), [compares, against.told]);
  return (
    <div className="def">
      <header className="def-head">
        <div className="grow">
          <h1>{titleOf(version)} <StatusBadge status={version.status} /></h1>
          <p className="run-meta">
            <span className="mono">{version.name}</span>
            <label className="def-version"><span className="sr">{t.runs.version}</span>
              <select className="input" value={version.version} onChange={(event) => setVersion(version.name, Number(event.target.value))}>{all.map((one) => <option key={one.version} value={one.version}>v{one.version} · {d.status[one.status] ?? one.status}</option>)}</select>
            </label>
            <span>{d.changedBy(version.created_by ? person(version.created_by, t) : d.nobody)} <Ago time={version.created_at} /></span>
            {version.approved_by && <span>{d.approvedBy(person(version.approved_by, t))}</span>}
          </p>
          {version.feedback && <p className="ink-failed">{d.feedback}: {version.feedback}</p>}
        </div>
        <div className="run-moves">
          {deeds.map((deed) => <Button key={deed} look={deed === "reject" || deed === "deprecate" ? "danger" : deed === "approve" ? "primary" : "plain"} icon={ICON[deed]} onClick={(event) => setAsked({ deed, anchor: anchorOf(event.currentTarget) })}>{d.deed[deed]}</Button>)}
          {may(me, "definition.write") && <Link className="btn" to={`/definitions?new=${encodeURIComponent(version.name)}`}><FilePlus2 size={15} aria-hidden />{d.newVersion}</Link>}
          <Link className="btn" to={`/runs?name=${encodeURIComponent(version.name)}`}><Waypoints size={15} aria-hidden />{d.openRuns(list?.open_runs ?? 0)}</Link>
          {starts && !container && <Button look="primary" icon={Play} disabled={!found} onClick={(event) => setAsked({ deed: "start", anchor: anchorOf(event.currentTarget) })}>{d.startRun}</Button>}
        </div>
      </header>
      <div className={`def-body ${node && graph && !phone ? "def-open" : ""}`}>
        <div className="def-left">
          <div className="def-tabs">
            <Segment<Tab> label={d.looks} value={tab} onChange={(next) => setTab(next === (isProcess ? "overview" : "source") ? null : next)} options={[...(isProcess ? [{ id: "overview" as const, text: d.overview }] : []), { id: "source", text: d.source }, { id: "diff", text: d.diff }, { id: "history", text: d.versionsN(all.length) }]} />
            {isProcess && <Downloads name={version.name} version={version.version} drawn={!container} />}
          </div>
          <div className="def-scroll" tabIndex={-1}>
            {tab === "overview" && <Overview version={version} against={against} process={process.data} error={process.error} working={working} onPick={setNode} />}
            {tab === "source" && <Code text={text} findings={found?.findings ?? []} at={at} label={d.source} />}
            {tab === "diff" && <Changes version={version} all={all} against={against} language={language} text={text} onPick={setNode} />}
            {tab === "history" && <History all={all} now={version.version} />}
          </div>
        </div>
        <div className="def-right">
          {container ? <div className="def-picture def-nothing"><div><p className="dim">{d.container}</p><ul className="def-map">{process.data?.children.map((one) => <li key={one.id}><Link to={definitionPath(one.id)} className="card"><b>{one.name}</b><span className="dim">{d.types[one.type] ?? one.type}</span></Link></li>)}</ul></div></div>
            : graph ? <Picture found={found as NonNullable<typeof found>} old={false} counts={working.counts} marks={marks} playing={playing} onPlay={setPlaying} selected={node} onPick={setNode} />
            : <div className="def-picture def-nothing">{busy ? <Skeleton h={48} n={3} /> : <p className="dim">{d.notDrawn}</p>}</div>}
          <Findings found={found} problem={problem} busy={busy} playing={playing} onPlay={setPlaying} onPick={pick} />
        </div>
        {node && graph && <Inspector document={version.document} graph={graph} node={node} running={{ name: version.name, working }} onPick={setNode} />}
      </div>
      {asked?.deed === "start" && <Start name={version.name} title={titleOf(version)} language={language} version={version.version} schema={found?.input_schema ?? null} document={version.document} anchor={asked.anchor} onClose={() => setAsked(null)} />}
      {asked && asked.deed !== "start" && <Ask version={version} model={model} base={textOf((process.data?.origin as Dict | undefined)?.["base_proc_def_id"])} deed={asked.deed} open={list?.open_runs ?? 0} anchor={asked.anchor} onClose={() => setAsked(null)} />}
    </div>
  );
}

/** The drawing for a modeler, and what happened for a tool that mines it. */
function Downloads({ name, version, drawn }: { name: string; version: number; drawn: boolean }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  const { me } = useSession();
  const [at, setAt] = useState<Anchor | null>(null);
  const log = (format: string) => `${BASE}/processes/definitions/${encodeURIComponent(name)}/event-log?format=${format}`;
  const lines = [
    { text: d.asBpmn, file: `${name}.bpmn`, to: BASE + bpmnPath(name, version), shown: drawn },
    { text: d.asXes, file: `${name}.xes`, to: log("xes"), shown: may(me, "run.read") },
    { text: d.asJsonLog, file: `${name}-events.json`, to: log("json"), shown: may(me, "run.read") },
  ].filter((one) => one.shown);
  return (
    <>
      <Button look="quiet" icon={Download} aria-haspopup="dialog" onClick={(event) => setAt(anchorOf(event.currentTarget))}>{d.download}</Button>
      {at && (
        <Dialog label={d.download} look="popover" anchor={at} onClose={() => setAt(null)}>
          <ul className="menu">{lines.map((one) => <li key={one.file}><a href={one.to} download={one.file} onClick={() => setAt(null)}><FileDown size={16} aria-hidden /><span className="grow">{one.text}</span></a></li>)}</ul>
        </Dialog>
      )}
    </>
  );
}

function setVersion(name: string, version: number): void {
  history.pushState(null, "", `${definitionPath(name, version)}${location.search}`);
  window.dispatchEvent(new PopStateEvent("popstate"));
}

/** The line of the text where the node is written. */
function lineOf(text: string, node: string): number | null {
  const found = text.split("\n").findIndex((line) => new RegExp(`"(id|label)":\\s*${JSON.stringify(node).replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`).test(line));
  return found < 0 ? null : found + 1;
}

function History({ all, now }: { all: Version[]; now: number }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  return (
    <ol className="def-history">
      {all.map((one) => (
        <li key={one.version} aria-current={one.version === now ? "true" : undefined}>
          <p><Link to={definitionPath(one.name, one.version)}><b>v{one.version}</b></Link> <StatusBadge status={one.status} /> <span className="dim"><Ago time={one.created_at} /> · {one.created_by ? person(one.created_by, t) : d.nobody}</span></p>
          {one.change_summary && <p className="dim">{one.change_summary}</p>}
          {one.feedback && <p className="ink-failed">{one.feedback}</p>}
        </li>
      ))}
    </ol>
  );
}

/** Agreeing and sending back are class B; putting in force and taking out of it are class C: what is open is said, and a number typed. */
function Ask({ version, model, base, deed, open, anchor, onClose }: { version: VersionWhole; model: boolean; base: string; deed: Deed; open: number; anchor: Anchor | null; onClose: () => void }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  const [said, setSaid] = useState("");
  const [into, setInto] = useState(false);
  const [typed, setTyped] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [key] = useState(newKey);
  const grave = deed === "activate" || deed === "deprecate";
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (deed === "reject" && !said.trim()) { setError(t.inbox.commentNeeded); return; }
    if (grave && typed.trim() !== String(version.version)) { setError(t.run.typed(String(version.version))); return; }
    setBusy(true);
    try {
      await decide(version.name, version.version, deed, { model, comment: said.trim(), into: into ? base : null }, `${key}${into ? "i" : ""}`);
      toast(d.did[deed] ?? "");
      onClose();
    } catch (problem) {
      setError(errorText(problem, t));
      setBusy(false);
    }
  };
  return (
    <Dialog label={d.ask[deed](version.version)} look={grave ? "window" : "popover"} anchor={anchor} onClose={onClose}>
      <form className="move-form" onSubmit={(event) => void submit(event)}>
        <h2>{d.ask[deed](version.version)}</h2>
        <p>{deed === "approve" && model ? d.effectModel : d.effect[deed](open)}</p>
        {deed === "approve" && model && base && <label className="def-meant"><input type="checkbox" checked={into} onChange={(event) => setInto(event.target.checked)} />{d.into(base)}</label>}
        {(deed === "reject" || (deed === "approve" && model)) && <label><span className="label">{t.inbox.comment}{deed === "approve" ? <span className="dim">{t.common.optional}</span> : <span className="star"> *</span>}</span><textarea data-first={deed === "reject" || undefined} className="input" rows={3} value={said} onChange={(event) => { setError(null); setSaid(event.target.value); }} /></label>}
        {grave && <label><span className="label">{t.run.typed(String(version.version))}</span><input className="input" inputMode="numeric" value={typed} onChange={(event) => { setError(null); setTyped(event.target.value); }} /></label>}
        {error && <p className="bad" role="alert">{error}</p>}
        <div className="dialog-foot"><Button data-first={deed === "reject" ? undefined : true} onClick={onClose}>{t.inbox.notNow}</Button><Button type="submit" look={deed === "reject" || deed === "deprecate" ? "danger" : "primary"} icon={ICON[deed]} disabled={busy}>{d.deed[deed]}</Button></div>
      </form>
    </Dialog>
  );
}
