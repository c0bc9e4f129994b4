/** Bringing a manual: a file that is dropped or picked, or a text that is pasted. */
import { FileText, FileUp, Sparkles } from "lucide-react";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { Button, Card } from "../../components";
import { useStoredText } from "../../definitions/storedText";
import { useFrame } from "../../shell/chrome";
import { go, Link } from "../../shell/router";
import { useSession } from "../../shell/session";
import { dropManual, keepManual, keptManual } from "./kept";
import { NEW_MANUAL } from "./requests";
import { useManualWords } from "./speech";
import type { Manual } from "./types";
import { toast } from "../../components/toast";

const KINDS = ".pdf,.docx,.html,.htm,.txt,.md,.markdown";

export function BringManual(): ReactNode {
  const { t, m } = useManualWords();
  const { me } = useSession();
  useFrame([{ text: t.nav.definitions, to: "/definitions" }, { text: m.title }]);
  const input = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [pasted, store] = useStoredText(`ps.manual.${me.user}`);
  const kept = useKept(me.user);
  const text = pasted ?? "";
  const open = async (manual: Manual) => {
    await keepManual(me.user, manual);
    go(NEW_MANUAL);
  };
  const bring = async (file: File | undefined) => {
    if (!file) return;
    setProblem(null);
    if (file.size === 0) return setProblem(m.empty(file.name));
    try {
      await open({ name: file.name, content_base64: await base64Of(file) });
    } catch {
      setProblem(m.unreadable(file.name)); // it was moved, or may not be read
    }
  };
  useFileDrop((file) => void bring(file), setOver);
  return (
    <div className="pad manual-start">
      <header><h1>{m.startTitle}</h1><p className="dim">{m.startText}</p></header>
      {kept.manual && (
        <section className="card manual-kept" aria-label={m.keptTitle}>
          <FileText size={18} aria-hidden /><p className="grow"><b>{m.keptTitle}</b> <span className="dim">{nameOf(kept.manual, m.pastedText)}</span></p>
          <Button look="quiet" onClick={() => { const { manual } = kept; void dropManual(me.user).then(() => { kept.set(null); toast(m.keptDropped, { act: { text: t.common.undo, run: () => { if (manual) void keepManual(me.user, manual).then(() => kept.set(manual)); } } }); }); }}>{m.keptDrop}</Button>
          <Link className="btn" to={NEW_MANUAL}>{m.keptOpen}</Link>
        </section>
      )}
      <Card className={`manual-bring ${over ? "manual-over" : ""}`}>
        <input ref={input} type="file" hidden data-manual accept={KINDS} onChange={(event) => { void bring(event.target.files?.[0]); event.target.value = ""; }} />
        <div className="manual-drop">
          <FileUp size={30} strokeWidth={1.6} aria-hidden />
          <p className="manual-drop-said">{m.drop}</p>
          <p className="dim small">{m.kinds}</p>
          <Button look="primary" icon={FileUp} onClick={() => input.current?.click()}>{m.pick}</Button>
          {problem && <p className="bad" role="alert">{problem}</p>}
        </div>
        <form className="manual-paste" onSubmit={(event) => { event.preventDefault(); if (text.trim()) void open({ text }); }}>
          <label><span className="label">{m.paste}<span className="dim">{m.pasteHint}</span></span><textarea className="input" rows={8} maxLength={200_000} value={text} placeholder={m.pasteSample} onChange={(event) => store(event.target.value || null)} /></label>
          <div className="dialog-foot"><Button type="submit" icon={Sparkles} disabled={!text.trim()}>{m.readText}</Button></div>
        </form>
      </Card>
      <section className="manual-after" aria-label={m.afterTitle}>
        <h2>{m.afterTitle}</h2>
        <ol>{m.after.map((each, i) => <li key={i}><i aria-hidden>{i + 1}</i><span>{each}</span></li>)}</ol>
      </section>
      {over && <div className="drop-here" aria-hidden><FileUp size={28} /><b>{m.dropHere}</b></div>}
    </div>
  );
}

export const nameOf = (manual: Manual, pasted: string): string => ("text" in manual ? pasted : manual.name);

function useKept(user: string): { manual: Manual | null; set: (manual: Manual | null) => void } {
  const [manual, set] = useState<Manual | null>(null);
  useEffect(() => {
    let gone = false;
    void keptManual(user).then((found) => !gone && set(found));
    return () => { gone = true; };
  }, [user]);
  return { manual, set };
}

/** The whole screen is a place to drop a file on. */
function useFileDrop(onFile: (file: File | undefined) => void, onOver: (over: boolean) => void): void {
  const held = useRef(onFile);
  held.current = onFile;
  useEffect(() => {
    const files = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const enter = (event: DragEvent) => { if (files(event)) { event.preventDefault(); onOver(true); } };
    const leave = (event: DragEvent) => { if (event.relatedTarget === null) onOver(false); };
    const dropped = (event: DragEvent) => { onOver(false); if (!files(event)) return; event.preventDefault(); held.current(event.dataTransfer?.files[0]); };
    window.addEventListener("dragover", enter);
    window.addEventListener("dragleave", leave);
    window.addEventListener("drop", dropped);
    return () => { window.removeEventListener("dragover", enter); window.removeEventListener("dragleave", leave); window.removeEventListener("drop", dropped); };
  }, []);
}

function base64Of(file: File): Promise<string> {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => { const url = String(reader.result); done(url.slice(url.indexOf(",") + 1)); };
    reader.onerror = () => failed(reader.error ?? new Error(file.name));
    reader.readAsDataURL(file);
  });
}
