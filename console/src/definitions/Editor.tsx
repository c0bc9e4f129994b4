/** A new document or a new version: written, pasted, read from a file or told in plain words; checked while it is written. */
import { FileUp, Send, Sparkles, Workflow } from "lucide-react";
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { useGet } from "../api/cache";
import { newKey } from "../api/client";
import type { Dict, Extracted, Finding, Page, Version, VersionWhole } from "../api/types";
import { Button, Failed, Segment, Skeleton } from "../parts";
import { toast } from "../parts/toast";
import { useFrame } from "../shell/chrome";
import { go, setSearch, useSearch } from "../shell/router";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { errorText } from "../words/said";
import { Differences, differing } from "./Changes";
import { Compared } from "./Compared";
import { isDict, listOf } from "./element";
import { Findings } from "./Findings";
import { useInspecting } from "./inspecting";
import { Inspector } from "./Inspector";
import { Evidence } from "./Overview";
import { Picture, type Played } from "./Picture";
import { definitionPath, handIn, propose } from "./sending";
import { Writing, type Pen } from "./Writing";

type Tab = "source" | "plain" | "diff";

/** What was typed stays in this browser until it is handed in. */
function useKept(name: string): [string | null, (text: string | null) => void] {
  const read = () => { try { return localStorage.getItem(name); } catch { return null; } };
  const [text, setText] = useState<string | null>(read);
  const put = (next: string | null) => {
    setText(next);
    try {
      if (next === null) localStorage.removeItem(name);
      else localStorage.setItem(name, next);
    } catch {
      // a full or closed storage must not stop anybody from typing
    }
  };
  return [text, put];
}

export function Editor({ from }: { from: string | null }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  const { me } = useSession();
  const base = useGet<VersionWhole>(useBase(from));
  useFrame([{ text: t.nav.definitions, to: "/definitions" }, ...(from && base.data ? [{ text: titleOf(base.data), to: definitionPath(from) }] : []), { text: from ? d.newVersion : d.newOne }]);
  const before = useMemo(() => (base.data ? JSON.stringify(base.data.document, null, 2) : ""), [base.data]);
  const [kept, keep] = useKept(`ps.writing.${me.user}.${from ?? ""}`);
  const text = kept ?? (from ? fresh(before) : "");
  const search = useSearch();
  const tab = (search.get("tab") ?? "source") as Tab;
  const [made, setMade] = useState<Extracted | null>(null);
  const proposal = tab === "plain" ? made : null;
  const written = useMemo(() => (proposal ? JSON.stringify(proposal.definition, null, 2) : null), [proposal]);
  const own = useInspecting(text);
  const proposed = useInspecting(written, 0);
  const { found, last, problem, busy } = written === null ? own : proposed;
  const [playing, setPlaying] = useState<Played | null>(null);
  const [node, setNode] = useState<string | null>(null);
  const [about, setAbout] = useState("");
  const [sending, setSending] = useState(false);
  const [meant, setMeant] = useState(false);
  const [refused, setRefused] = useState<unknown>(null);
  const pen = useRef<Pen>(null);
  const file = useRef<HTMLInputElement>(null);
  const key = useRef(newKey());
  useEffect(() => { key.current = newKey(); setRefused(null); setMeant(false); }, [text]);
  useEffect(() => setPlaying(null), [found]);
  if (from && !base.data) return base.error ? <Failed page error={base.error} retry={base.reload} /> : <div className="pad"><Skeleton h={60} n={3} /></div>;

  const read = async (chosen: File | undefined) => {
    if (!chosen) return;
    keep(await chosen.text());
    setSearch({ tab: null });
  };
  const pick = (finding: Finding) => {
    if (finding.node) setNode(finding.node);
    if (finding.where.line > 0) {
      setSearch({ tab: null });
      window.setTimeout(() => pen.current?.to(finding.where.line), 0);
    }
  };
  const send = async () => {
    setSending(true);
    try {
      const made = await handIn(text, own.found?.language ?? "", from, about, meant, key.current);
      keep(null);
      toast(d.handedIn(made.version));
      go(`${definitionPath(made.name, made.version)}`);
    } catch (error) {
      setRefused(error);
    }
    setSending(false);
  };
  const shown = found?.graph ? found : last;
  const open = node !== null && !!shown?.graph?.nodes.some((one) => one.id === node);
  const wrong = own.found?.findings.filter((one) => one.severity === "error");
  // a process that may never end is refused, unless somebody says that they mean it
  const onlyUnsound = own.found?.language === "process" && !!wrong?.length && wrong.every((one) => one.rule === "unsound");
  const errors = !wrong || (wrong.length > 0 && !(onlyUnsound && meant));
  const allowed = may(me, "definition.write");
  const why = !allowed ? t.error.forbidden("definition.write") : !text.trim() ? d.emptyText : own.busy ? d.checking : errors ? d.mendFirst : undefined;
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
              { id: "source", text: d.source, icon: Workflow }, { id: "plain", text: d.plain, icon: Sparkles }, ...(from ? [{ id: "diff" as const, text: d.diff }] : [])]} />
          </div>
          {tab === "source" && <Writing ref={pen} label={d.source} hint={d.pasteHint} value={text} findings={own.found?.findings ?? []} onChange={keep} />}
          {tab === "diff" && from && <div className="def-scroll"><Compared before={before} after={text} /></div>}
          {tab === "plain" && <Plain user={me.user} from={from} before={own.found?.document} text={text} made={made} onMade={setMade} onPick={setNode} onTake={(next) => { setMade(null); keep(next); setSearch({ tab: null }); }} />}
          <div className="def-send">
            <label className="grow"><span className="sr">{d.about}</span><input className="input" value={about} placeholder={d.about} maxLength={2000} onChange={(event) => setAbout(event.target.value)} /></label>
            {onlyUnsound ? <label className="def-meant"><input type="checkbox" checked={meant} onChange={(event) => { key.current = newKey(); setMeant(event.target.checked); }} />{d.meant}</label> : why && text.trim() && <span className="dim small">{why}</span>}
          </div>
          {refused !== null && <p className="bad pad-small" role="alert">{errorText(refused, t)}</p>}
        </div>
        <div className="def-right">
          {written !== null && <p className="def-proposed" role="status"><Sparkles size={15} aria-hidden />{d.proposed}</p>}
          {shown ? <Picture found={shown} old={!found?.graph && !busy} playing={playing} onPlay={setPlaying} selected={node} onPick={setNode} /> : <div className="def-picture def-nothing"><p className="dim">{text.trim() ? (busy ? d.checking : d.notDrawn) : d.emptyText}</p></div>}
          <Findings found={found} problem={problem} busy={busy} playing={playing} onPlay={setPlaying} onPick={pick} />
        </div>
        {open && shown?.graph && node && <Inspector document={isDict(shown.document) ? shown.document : null} graph={shown.graph} node={node} running={null} onPick={setNode} />}
      </div>
    </div>
  );
}

/** Where the newest version is; null as long as it is not known. */
function useBase(name: string | null): string | null {
  const { data } = useGet<Page<Version>>(name === null ? null : `${definitionPath(name)}/versions?limit=200`);
  const newest = data?.items[0]?.version;
  return name === null || newest === undefined ? null : definitionPath(name, newest);
}

export const titleOf = (version: VersionWhole): string => String(version.document["process_definition_name"] ?? version.document["name"] ?? version.name);

/** The next version has a number of its own, which the server gives. */
function fresh(text: string): string {
  try {
    const { version: _, ...rest } = JSON.parse(text) as Record<string, unknown>;
    return JSON.stringify(rest, null, 2);
  } catch {
    return text;
  }
}

interface PlainProps {
  user: string;
  from: string | null;
  /** What is written now, as it was read; and as text. */
  before: Dict | null | undefined;
  text: string;
  made: Extracted | null;
  onMade: (made: Extracted | null) => void;
  onPick: (node: string) => void;
  onTake: (text: string) => void;
}

/** A text of plain words, and what it was read as: drawn beside it, said per element, with the words it came from. */
function Plain({ user, from, before, text: old, made, onMade, onPick, onTake }: PlainProps): ReactNode {
  const { t, f } = useWords();
  const d = t.definitions;
  const [kept, keep] = useKept(`ps.plain.${user}`);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const text = kept ?? "";
  const ask = async () => {
    setBusy(true);
    setError(null);
    try {
      onMade(await propose(text, from));
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  };
  const written = made ? JSON.stringify(made.definition, null, 2) : "";
  const all = made ? differing(isDict(before ?? undefined) ? (before as Dict) : {}, made.definition).filter((one) => one.collection !== "definition" && one.collection !== "transitions") : [];
  return (
    <div className="def-scroll def-plain">
      <label><span className="label">{d.plainLabel}<span className="dim">{d.plainHint}</span></span><textarea className="input" rows={9} value={text} placeholder={d.plainSample} onChange={(event) => { keep(event.target.value || null); onMade(null); }} /></label>
      <div className="dialog-foot"><Button icon={Sparkles} disabled={!text.trim() || busy} onClick={() => void ask()}>{busy ? d.reading : d.readIt}</Button></div>
      {error !== null && <p className="bad" role="alert">{errorText(error, t)}</p>}
      {made && (
        <section className="def-proposal" aria-label={d.proposal}>
          <h2>{d.proposal}</h2>
          <p>{d.proposedList(listOf(made.definition["activities"]).length)} · <b>{d.confidence(f.number(Math.round(made.confidence * 100)))}</b> <span className="dim">{made.source === "rules" ? d.byRules : made.source}</span></p>
          {made.note && <p className="dim">{made.note}</p>}
          {made.findings.map((one, i) => <p key={i} className={one.severity === "error" ? "ink-failed" : "ink-held"}>{one.message}</p>)}
          <Differences all={all} onPick={onPick} />
          <Evidence origin={{ evidence: made.evidence }} document={made.definition} onPick={onPick} />
          <details className="fold-plain"><summary>{d.source}</summary><Compared before={old.trim() ? old : ""} after={written} /></details>
          <div className="dialog-foot def-accept"><Button onClick={() => onMade(null)}>{d.dropIt}</Button><Button look="primary" onClick={() => onTake(written)}>{d.takeIt}</Button></div>
        </section>
      )}
    </div>
  );
}
