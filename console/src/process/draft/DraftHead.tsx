/** The head of a draft: its file, what is in it, how far it is, undo and redo, and its release. */
import { Check, CloudCheck, Ellipsis, FileDown, FileInput, FileUp, Lock, Pencil, Redo2, Rocket, Trash2, Undo2 } from "lucide-react";
import { useRef, useState, type ReactNode } from "react";
import { BASE } from "../../api/client";
import { Badge, Button } from "../../components";
import { anchorOf, Dialog, type Anchor } from "../../components/Dialog";
import { useDraftWords } from "./speech";
import { draftFilePath } from "./requests";
import { missingTodos, type Draft } from "./types";
import type { DraftWork } from "./work";

const STAGES = ["draft", "check", "simulate", "review", "active"] as const;

interface Props {
  work: DraftWork;
  mayWrite: boolean;
  /** Why it cannot be released; null when it can. */
  locked: string | null;
  onRelease: () => void;
  onRemove: () => void;
}

export function DraftHead({ work, mayWrite, locked, onRelease, onRemove }: Props): ReactNode {
  const { f, d } = useDraftWords();
  const { draft } = work;
  const { counts } = draft;
  return (
    <header className="draft-head">
      <div className="draft-title">
        <h1>{draft.name} <Badge tone={draft.status === "finished" ? "done" : "held"} icon={draft.status === "finished" ? Check : Pencil}>{draft.status === "finished" ? d.finishedBadge : d.badge}</Badge></h1>
        <p className="draft-about">
          {draft.file && <span className="mono">{draft.file}</span>}
          <span title={f.title(draft.created_at)}><FileInput size={14} aria-hidden />{d.importedAt(f.when(draft.created_at, Date.now()))} · <span className={counts.lost > 0 ? "ink-failed" : ""}>{d.lost(counts.lost)}</span></span>
          <span>{[counts.pools > 0 && d.pools(counts.pools), d.steps(counts.steps), d.flows(counts.flows), counts.messages > 0 && d.messages(counts.messages)].filter(Boolean).join(" · ")}</span>
        </p>
      </div>
      <Stepper draft={draft} />
      <div className="draft-acts">
        <span className="dim small draft-saved" role="status"><CloudCheck size={15} aria-hidden />{work.busy ? d.saving : d.saved}</span>
        {mayWrite && <>
          <Button className="btn-square" disabled={!work.canUndo || work.busy} aria-label={d.undo} title={`${d.undo} (z)`} onClick={() => void work.undo()}><Undo2 size={16} aria-hidden /></Button>
          <Button className="btn-square" disabled={!work.canRedo || work.busy} aria-label={d.redo} title={`${d.redo} (y)`} onClick={() => void work.redo()}><Redo2 size={16} aria-hidden /></Button>
        </>}
        <Menu work={work} mayWrite={mayWrite} onRemove={onRemove} />
        <Button look="primary" icon={locked === null ? Rocket : Lock} disabled={locked !== null || work.busy} title={locked ?? undefined} aria-describedby={locked === null ? undefined : "draft-locked"} onClick={onRelease}>{d.release}</Button>
        {locked !== null && <span className="sr" id="draft-locked">{locked}</span>}
      </div>
    </header>
  );
}

/** The stage that a draft is at: it is checked once nothing is missing, and reviewed once that is right. */
function stageOf(draft: Draft): number {
  if (missingTodos(draft).length > 0) return 0;
  return draft.status === "finished" ? 3 : 1;
}

function Stepper({ draft }: { draft: Draft }): ReactNode {
  const { d } = useDraftWords();
  const at = stageOf(draft);
  const done = draft.todos.filter(({ state }) => state === "done").length;
  return (
    <ol className="draft-steps" aria-label={d.stepper}>
      {STAGES.map((stage, i) => {
        const passed = i < at && stage !== "simulate";
        const word = passed ? d.stageDone : i === at ? d.stageNow : d.stageNext;
        return <li key={stage} className={passed ? "tone-done" : i === at ? "tone-held" : ""} aria-current={i === at ? "step" : undefined}><i>{passed ? <Check size={11} strokeWidth={3} aria-hidden /> : i + 1}</i><span>{d.stages[stage]}{stage === "draft" && draft.todos.length > 0 && ` ${done}/${draft.todos.length}`}</span><span className="sr">, {word}</span></li>;
      })}
    </ol>
  );
}

function Menu({ work, mayWrite, onRemove }: { work: DraftWork; mayWrite: boolean; onRemove: () => void }): ReactNode {
  const { d } = useDraftWords();
  const [menu, setMenu] = useState<Anchor | null>(null);
  const file = useRef<HTMLInputElement>(null);
  const { draft } = work;
  const name = draft.file || `${draft.name}.bpmn`;
  return (
    <>
      <input ref={file} type="file" hidden accept=".bpmn,.xml,.json" data-replace onChange={(event) => { const chosen = event.target.files?.[0]; event.target.value = ""; if (chosen) void work.replace(chosen); }} />
      <Button className="btn-square" aria-label={d.more} title={d.more} aria-haspopup="dialog" onClick={(event) => setMenu(anchorOf(event.currentTarget))}><Ellipsis size={16} aria-hidden /></Button>
      {menu && (
        <Dialog label={d.more} look="popover" anchor={menu} onClose={() => setMenu(null)}>
          <ul className="menu">
            <li><a href={BASE + draftFilePath(draft.id, false)} download={name} onClick={() => setMenu(null)}><FileDown size={16} aria-hidden /><span className="grow">{d.download}</span></a></li>
            {mayWrite && <li><button type="button" onClick={() => { setMenu(null); file.current?.click(); }}><FileUp size={16} aria-hidden /><span className="grow">{d.replace}</span></button></li>}
            {mayWrite && <li><button type="button" className="ink-failed" onClick={() => { setMenu(null); onRemove(); }}><Trash2 size={16} aria-hidden /><span className="grow">{d.remove}</span></button></li>}
          </ul>
        </Dialog>
      )}
    </>
  );
}
