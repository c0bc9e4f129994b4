/** The editor of a new definition or a new version: typed, pasted, uploaded or drafted from plain words; checked while it is written. */
import { FileUp, Send, Sparkles, Workflow } from "lucide-react";
import { Suspense, useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { useGet } from "../api/cache";
import { newKey } from "../api/client";
import { fileText } from "../api/fileText";
import { isDict } from "../api/json";
import type { Extracted, Finding, Page, Version, VersionWhole } from "../api/types";
import { Button, Failed, Segment, Skeleton } from "../components";
import { toast } from "../components/toast";
import { LANGUAGES, languageOf, titleOf } from "../languages";
import { useFrame } from "../shell/chrome";
import { go, setSearch, useSearch } from "../shell/router";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import { DrawingPane, type Playback } from "./DrawingPane";
import { Findings } from "./Findings";
import { useInspection } from "./inspection";
import { Inspector } from "./Inspector";
import { definitionPath, submitDefinition } from "./requests";
import { TextDiff } from "./TextDiff";
import { TextEditor, type EditorHandle } from "./TextEditor";
import { useStoredText } from "./storedText";

type Tab = "source" | "plain" | "diff";

/** The first language that drafts documents from plain words. */
const PlainText = LANGUAGES.flatMap((language) => language.document?.PlainText ?? [])[0];

export function Editor({ from }: { from: string | null }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  const { me } = useSession();
  const base = useGet<VersionWhole>(useNewestPath(from));
  useFrame([{ text: t.nav.definitions, to: "/definitions" }, ...(from && base.data ? [{ text: titleOf(base.data), to: definitionPath(from) }] : []), { text: from ? d.newVersion : d.newOne }]);
  const newest = base.data?.version ?? 0;
  const before = useMemo(() => (base.data ? numbered(JSON.stringify(base.data.document, null, 2), newest) : ""), [base.data, newest]);
  const [stored, store] = useStoredText(`ps.writing.${me.user}.${from ?? ""}`);
  const text = useMemo(() => (stored === null ? before : from ? numbered(stored, newest) : stored), [stored, before, from, newest]);
  const untouched = from !== null && text === before;
  const search = useSearch();
  const tab = (search.get("tab") ?? "source") as Tab;
  const [proposal, setProposal] = useState<Extracted | null>(null);
  const proposed = useMemo(() => (tab === "plain" && proposal ? JSON.stringify(proposal.definition, null, 2) : null), [tab, proposal]);
  const own = useInspection(text);
  const ofProposal = useInspection(proposed, 0);
  const { inspected, last, problem, busy } = proposed === null ? own : ofProposal;
  const [playback, setPlayback] = useState<Playback | null>(null);
  const [node, setNode] = useState<string | null>(null);
  const [summary, setSummary] = useState("");
  const [sending, setSending] = useState(false);
  const [acceptsUnsound, setAcceptsUnsound] = useState(false);
  const [refusal, setRefusal] = useState<unknown>(null);
  const editor = useRef<EditorHandle>(null);
  const file = useRef<HTMLInputElement>(null);
  const key = useRef(newKey());
  useEffect(() => { key.current = newKey(); setRefusal(null); setAcceptsUnsound(false); }, [text]);
  useEffect(() => setPlayback(null), [inspected]);
  if (from && !base.data) return base.error ? <Failed page error={base.error} retry={base.reload} /> : <div className="pad"><Skeleton h={60} n={3} /></div>;

  const read = async (chosen: File | undefined) => {
    if (!chosen) return;
    try {
      store((await fileText(chosen, t.error.notIn)).replace(/^\ufeff/, ""));
      setSearch({ tab: null });
    } catch (error) {
      toast(errorText(error, t), { bad: true });
    }
  };
  const pick = (finding: Finding) => {
    if (finding.node) setNode(finding.node);
    if (finding.where.line > 0) {
      setSearch({ tab: null });
      window.setTimeout(() => editor.current?.goTo(finding.where.line), 0);
    }
  };
  const send = async () => {
    setSending(true);
    try {
      const made = await submitDefinition({ text, language: own.inspected?.language ?? "", from, summary, unsound: acceptsUnsound }, key.current);
      store(null);
      toast(d.handedIn(made.version));
      go(`${definitionPath(made.name, made.version)}`);
    } catch (error) {
      setRefusal(error);
    }
    setSending(false);
  };
  const shown = inspected?.graph ? inspected : last;
  const open = node !== null && !!shown?.graph?.nodes.some((candidate) => candidate.id === node);
  const errors = own.inspected?.findings.filter((finding) => finding.severity === "error");
  const onlyUnsound = !!languageOf(own.inspected?.language).document?.mayBeUnsound && !!errors?.length && errors.every((finding) => finding.rule === "unsound");
  const refused = !errors || (errors.length > 0 && !(onlyUnsound && acceptsUnsound));
  const allowed = may(me, "definition.write");
  const why = !allowed ? t.error.forbidden("definition.write") : !text.trim() ? d.emptyText : own.busy ? d.checking : refused ? d.mendFirst : untouched ? d.same : undefined;
  return (
    <div className="def">
      <header className="def-head">
        <div className="grow">
          <h1>{from ? base.data && titleOf(base.data) : d.newOne}</h1>
          <p className="dim">{from ? d.newVersionText : d.newText}</p>
        </div>
        <input ref={file} type="file" hidden accept=".bpmn,.xml,.json,.yaml,.yml,.txt,.md" onChange={(event) => { void read(event.target.files?.[0]); event.target.value = ""; }} />
        <Button icon={FileUp} onClick={() => file.current?.click()}>{d.upload}</Button>
        <Button look="primary" icon={Send} disabled={!!why || sending} title={why} onClick={() => void send()}>{d.handIn}</Button>
      </header>
      <div className={`def-body ${open ? "def-open" : ""}`} onDragOver={(event) => event.preventDefault()} onDrop={(event) => { event.preventDefault(); void read(event.dataTransfer.files[0]); }}>
        <div className="def-left">
          <div className="def-tabs">
            <Segment<Tab> label={d.looks} value={tab} onChange={(next) => setSearch({ tab: next === "source" ? null : next })} options={[
              { id: "source", text: d.source, icon: Workflow }, ...(PlainText ? [{ id: "plain" as const, text: d.plain, icon: Sparkles }] : []), ...(from ? [{ id: "diff" as const, text: d.diff }] : [])]} />
          </div>
          {tab === "source" && <TextEditor ref={editor} label={d.source} hint={d.pasteHint} value={text} findings={own.inspected?.findings ?? []} onChange={store} />}
          {tab === "diff" && from && <div className="def-scroll"><TextDiff before={before} after={text} /></div>}
          {tab === "plain" && PlainText && <Suspense fallback={<div className="def-scroll" />}><PlainText user={me.user} from={from} before={own.inspected?.document} text={text} proposal={proposal} onProposal={setProposal} onPick={setNode} onAccept={(next) => { setProposal(null); store(next); setSearch({ tab: null }); }} /></Suspense>}
          <div className="def-send">
            <label className="grow"><span className="sr">{d.about}</span><input className="input" value={summary} placeholder={d.about} maxLength={2000} onChange={(event) => setSummary(event.target.value)} /></label>
            {onlyUnsound ? <label className="def-meant"><input type="checkbox" checked={acceptsUnsound} onChange={(event) => { key.current = newKey(); setAcceptsUnsound(event.target.checked); }} />{d.meant}</label> : why && text.trim() && <span className="dim small">{why}</span>}
          </div>
          {refusal !== null && <p className="bad pad-small" role="alert">{errorText(refusal, t)}</p>}
        </div>
        <div className="def-right">
          {proposed !== null && <p className="def-proposed" role="status"><Sparkles size={15} aria-hidden />{d.proposed}</p>}
          {shown ? <DrawingPane inspected={shown} old={!inspected?.graph && !busy} playback={playback} onPlay={setPlayback} selected={node} onPick={setNode} /> : <div className="def-picture def-nothing"><p className="dim">{text.trim() ? (busy ? d.checking : d.notDrawn) : d.emptyText}</p></div>}
          <Findings inspected={inspected} problem={problem} busy={busy} playback={playback} onPlay={setPlayback} onPick={pick} />
        </div>
        {open && shown?.graph && node && <Inspector document={isDict(shown.document) ? shown.document : null} graph={shown.graph} node={node} running={null} onPick={setNode} />}
      </div>
    </div>
  );
}

/** The address of the newest version; null while it is not known. */
function useNewestPath(name: string | null): string | null {
  const { data } = useGet<Page<Version>>(name === null ? null : `${definitionPath(name)}/versions?limit=200`);
  const newest = data?.items[0]?.version;
  return name === null || newest === undefined ? null : definitionPath(name, newest);
}

/** A text whose version is a number that is taken gets the next one, in its place; nothing else of it is touched. */
function numbered(text: string, newest: number): string {
  try {
    const { version } = JSON.parse(text) as { version?: unknown };
    return typeof version === "number" && version <= newest ? text.replace(/^( {0,2}"version": *)\d+/m, `$1${newest + 1}`) : text;
  } catch {
    return text;
  }
}
