/** A draft: its drawing with what is missing, the to-dos beside it, whether every run can end, and its release. */
import "../../run/run.css";
import "../../definitions/definitions.css";
import "./draft.css";
import { useEffect, useMemo, useState, type ReactNode } from "react";
import { ApiError } from "../../api/client";
import { Empty, Failed, Skeleton } from "../../components";
import { toast } from "../../components/toast";
import type { Playback } from "../../definitions/DrawingPane";
import { definitionPath } from "../../definitions/requests";
import type { DraftPageProps } from "../../languages/contract";
import { useFrame } from "../../shell/chrome";
import { useKeys } from "../../shell/keys";
import { go, Link, useParam, useSearch, setSearch } from "../../shell/router";
import { may, useSession } from "../../shell/session";
import { AcceptAll } from "./AcceptAll";
import { DraftHead } from "./DraftHead";
import { DraftPicture } from "./DraftPicture";
import { readFile } from "./drawingFile";
import { ElementCard } from "./ElementCard";
import { ReleasedList } from "./ReleasedList";
import { ReleaseDraft } from "./ReleaseDraft";
import { leaveDraft } from "./requests";
import { RemoveDraft } from "./RemoveDraft";
import { SoundnessStrip } from "./SoundnessStrip";
import { useDraftWords } from "./speech";
import { useAcceptedText, useDrawnText, useInspectedDefinition } from "./texts";
import { TodoPanel } from "./TodoPanel";
import type { Way } from "./TodoCard";
import { hasProposal, mayRelease, missingTodos, openTodos, type Released, type Todo } from "./types";
import { useDraftWork, type DraftWork } from "./work";
import { WhyBar } from "./WhyBar";

export default function DraftPage({ id, version, otherwise }: DraftPageProps): ReactNode {
  const { t, d } = useDraftWords();
  const { work, error, reload } = useDraftWork(id);
  const [released, setReleased] = useState<Released | null>(null);
  useFrame([{ text: t.nav.definitions, to: "/definitions" }, { text: t.language["process"] ?? d.language, to: "/definitions?language=process" }, { text: work?.draft.name ?? d.title }]);
  if (released) return <ReleasedList released={released} />;
  if (work && (work.draft.version !== version || work.draft.status === "released")) return otherwise;
  if (work) return <Workbench work={work} reload={reload} onReleased={setReleased} />;
  if (error instanceof ApiError && error.status === 404) return <Empty page title={d.gone} text={d.goneDo}><Link className="btn" to="/definitions">{t.nav.definitions}</Link></Empty>;
  return error ? <Failed page error={error} retry={reload} /> : <div className="pad"><Skeleton h={60} n={2} /><Skeleton h={360} /></div>;
}

/** What answers a to-do first: its proposal, its value, else a button, else its title. */
const firstOf = ({ no }: Todo): HTMLElement | null => ["[data-first]", ".todo-acts .btn", "button"].reduce<HTMLElement | null>((first, selector) => first ?? document.querySelector(`#todo-${no} ${selector}`), null);

function Workbench({ work, reload, onReleased }: { work: DraftWork; reload: () => void; onReleased: (released: Released) => void }): ReactNode {
  const { d } = useDraftWords();
  const { draft } = work;
  const { me } = useSession();
  const search = useSearch();
  const [look, setLook] = useParam("look");
  const [dialog, setDialog] = useState<"accept" | "release" | "remove" | null>(null);
  const [playback, setPlayback] = useState<Playback | null>(null);
  const [way, setWay] = useState<Way>(null);
  const ready = draft.todos.filter(hasProposal).length;
  const preview = look === "after" && ready > 0;
  const drawn = useDrawnText(draft);
  const accepted = useAcceptedText(draft, preview);
  const file = useMemo(() => readFile(drawn.text ?? ""), [drawn.text]);
  const chosen = draft.todos.find(({ no }) => String(no) === search.get("todo")) ?? null;
  const element = chosen ? null : search.get("node");
  const doubtful = draft.todos.find(({ kind, state }) => kind === "soundness" && state === "open")?.process;
  const definition = search.get("of") ?? doubtful ?? draft.definitions[0]?.id ?? "";
  const undrawn = drawn.text !== null && !drawn.text.includes("BPMNShape"); // the server lays it out
  const inspection = useInspectedDefinition(draft, undrawn || search.get("view") === "net" || doubtful !== undefined || draft.soundness.status === "unsound", definition, doubtful === undefined); // what the proposals mend is seen where they are not taken
  const select = (todo: Todo | null) => { setWay(null); setSearch({ todo: todo ? String(todo.no) : null, node: null }); };
  const pick = (node: string | null) => { setWay(null); setSearch({ todo: null, node }); };
  const mayWrite = may(me, "definition.write");
  const open = openTodos(draft);
  const needed = missingTodos(draft).length;
  const locked = !mayWrite ? d.needs("definition.write") : needed > 0 ? d.lockedTip(needed) : !mayRelease(draft) ? d.lockedCheck : null;
  const step = (by: 1 | -1) => {
    const at = open.findIndex(({ key }) => key === chosen?.key);
    const next = open[at < 0 ? (by > 0 ? 0 : open.length - 1) : Math.min(open.length - 1, Math.max(0, at + by))];
    if (next) select(next);
  };
  /** After an answer comes the next open to-do; an answer elsewhere leaves the selection alone. */
  const goOn = (answered: Todo) => {
    setWay(null);
    if (chosen?.key !== answered.key) return;
    const left = open.filter(({ key }) => key !== answered.key);
    select(left.find(({ no }) => no > answered.no) ?? left[0] ?? null);
  };
  useKeys({
    j: () => step(1), k: () => step(-1), Escape: () => (way ? setWay(null) : select(null)), z: () => mayWrite && work.canUndo && void work.undo(), y: () => mayWrite && work.canRedo && void work.redo(),
    a: () => chosen && mayWrite && !work.busy && hasProposal(chosen) && void work.take(chosen, 0).then((done) => done && goOn(chosen)),
    Enter: () => chosen && firstOf(chosen)?.focus(),
  });
  useEffect(() => { // what another window did is seen when somebody comes back to this one
    const back = () => document.visibilityState === "visible" && !work.busy && reload();
    document.addEventListener("visibilitychange", back);
    return () => document.removeEventListener("visibilitychange", back);
  }, [work.busy, reload]);
  const done = (released: Released) => {
    setDialog(null);
    const only = released.definitions.length === 1 ? released.definitions[0] : undefined;
    if (!only) return onReleased(released);
    toast(d.releasedToast(draft.name, only.version));
    go(definitionPath(only.id, only.version));
    leaveDraft();
  };
  const selected = element ? file.elements.get(element) : undefined;
  return (
    <div className="draft">
      <DraftHead work={work} mayWrite={mayWrite} locked={locked} onRelease={() => setDialog("release")} onRemove={() => setDialog("remove")} />
      <WhyBar draft={draft} preview={preview} mayWrite={mayWrite} busy={work.busy} onPreview={() => setLook(preview ? null : "after")} onAcceptAll={() => setDialog("accept")} />
      <div className="draft-body">
        <div className="draft-left">
          <DraftPicture draft={draft} file={file} xml={undrawn ? (inspection.inspected?.bpmn ?? (inspection.busy ? null : drawn.text)) : preview ? (accepted.text ?? drawn.text) : drawn.text} error={drawn.error} preview={preview} definition={definition} inspected={inspection.inspected} inspecting={inspection.busy} playback={playback} onPlay={setPlayback} todo={chosen} element={element} onTodo={select} onElement={pick} />
          <SoundnessStrip draft={draft} inspected={inspection.inspected} playing={playback !== null} onPlay={(play) => setPlayback(play ? { level: inspection.inspected?.soundness.findIndex(({ steps }) => steps.length > 0) ?? 0, step: 0, manual: false } : null)} onTodo={select} onElement={pick} />
        </div>
        <aside className="draft-panel" aria-label={d.panel}>
          {selected && <ElementCard file={file} element={selected} onPick={pick} onClose={() => pick(null)} />}
          <TodoPanel work={work} file={file} selected={chosen} way={way} may={mayWrite} onWay={setWay} onSelect={select} onDone={goOn} />
        </aside>
      </div>
      {dialog === "accept" && <AcceptAll work={work} file={file} onClose={() => setDialog(null)} />}
      {dialog === "release" && <ReleaseDraft draft={draft} onDone={done} onConflict={reload} onClose={() => setDialog(null)} />}
      {dialog === "remove" && <RemoveDraft draft={draft} onClose={() => setDialog(null)} />}
    </div>
  );
}
