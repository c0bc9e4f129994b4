/** Drafts on the screen of all definitions: the button that brings a file, and those that are not released yet. */
import "./draft.css";
import { FileInput, Pencil } from "lucide-react";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { useGet } from "../../api/cache";
import { newKey } from "../../api/client";
import { fileText } from "../../api/fileText";
import type { Definition, Page } from "../../api/types";
import { Ago, Badge, Button, Tag } from "../../components";
import { toast } from "../../components/toast";
import { go, Link } from "../../shell/router";
import { may, useSession } from "../../shell/session";
import { errorText } from "../../words/errorText";
import { openDrafts, pageOf } from "./find";
import { draftsPath, importFile } from "./requests";
import { useDraftWords } from "./speech";
import type { DraftLine } from "./types";

export default function Drafts(): ReactNode {
  const { f, d } = useDraftWords();
  const { data } = useGet<Page<DraftLine>>(draftsPath);
  const definitions = useGet<Page<Definition>>("/definitions?limit=200"); // the same answer as the list below
  const drafts = data ? openDrafts(data) : [];
  const versionOf = (draft: DraftLine) => (definitions.data?.items.find(({ name }) => name === draft.definitions[0]?.id)?.newest ?? 0) + 1;
  if (drafts.length === 0) return null;
  return (
    <section className="card drafts" aria-label={d.listTitle(drafts.length)}>
      <div className="card-head"><Pencil size={16} aria-hidden /><h2>{d.listTitle(drafts.length)}</h2><span className="dim small">{d.listAbout}</span></div>
      <ul>
        {drafts.map((draft) => {
          const { open } = draft;
          const all = open + draft.by_proposal + draft.by_hand;
          return (
            <li key={draft.id}>
              <Link to={pageOf(draft, versionOf(draft))}>
                <span className="grow"><b>{draft.name}</b> <span className="dim mono">{draft.file}</span>{draft.definitions.length > 1 && <> <Tag>{d.moreDefinitions(draft.definitions.length)}</Tag></>}</span>
                <span className="drafts-bar" aria-hidden><i style={{ width: `${all ? ((all - open) / all) * 100 : 100}%` }} /></span>
                <span className="drafts-left">{d.listLine(open, all)}</span>
                <Badge tone={draft.status === "open" ? "held" : "done"} icon={Pencil}>{draft.status === "open" ? d.badge : d.finishedBadge}</Badge>
                <span className="dim num" title={f.title(draft.updated_at)}><Ago time={draft.updated_at} /></span>
              </Link>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** A file picker, and the whole screen as a place to drop a file on. */
export function ImportButton(): ReactNode {
  const { t, d } = useDraftWords();
  const { me } = useSession();
  const input = useRef<HTMLInputElement>(null);
  const [busy, setBusy] = useState(false);
  const [over, setOver] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const allowed = may(me, "definition.write");
  const read = async (chosen: File | undefined) => {
    if (!chosen) return;
    setBusy(true);
    setProblem(null);
    try {
      const draft = await importFile(chosen.name, await fileText(chosen, t.error.notIn), newKey());
      toast(d.imported);
      go(pageOf(draft, draft.version));
    } catch (error) {
      setProblem(errorText(error, t));
      setBusy(false);
    }
  };
  const drop = useRef(read);
  drop.current = read;
  useEffect(() => {
    if (!allowed) return;
    const files = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const enter = (event: DragEvent) => { if (files(event)) { event.preventDefault(); setOver(true); } };
    const leave = (event: DragEvent) => { if (event.relatedTarget === null) setOver(false); };
    const dropped = (event: DragEvent) => { setOver(false); if (!files(event)) return; event.preventDefault(); void drop.current(event.dataTransfer?.files[0]); };
    window.addEventListener("dragover", enter);
    window.addEventListener("dragleave", leave);
    window.addEventListener("drop", dropped);
    return () => { window.removeEventListener("dragover", enter); window.removeEventListener("dragleave", leave); window.removeEventListener("drop", dropped); };
  }, [allowed]);
  if (!allowed) return null;
  return (
    <>
      <input ref={input} type="file" hidden data-import accept=".bpmn,.bpmn20.xml,.xml,.json" onChange={(event) => { void read(event.target.files?.[0]); event.target.value = ""; }} />
      <Button icon={FileInput} disabled={busy} onClick={() => input.current?.click()}>{busy ? d.importing : d.importFile}</Button>
      {over && <div className="drop-here" aria-hidden><FileInput size={28} /><b>{d.dropHere}</b></div>}
      {problem && <div className="failed-box import-failed" role="alert"><div><p className="empty-title">{d.importFailed}</p><p>{problem}</p></div></div>}
    </>
  );
}
