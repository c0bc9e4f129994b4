/** The picture of a draft: its own drawing with marks, the net of it with all proposals taken, or a list. */
import { CircleDot, Layers, List, Waypoints, Workflow } from "lucide-react";
import { lazy, Suspense, useMemo, useState, type ReactNode } from "react";
import type { Inspected } from "../../api/types";
import { Failed, Segment, Skeleton } from "../../components";
import { useNarrow } from "../../components/useNarrow";
import { DrawingPane, type Playback } from "../../definitions/DrawingPane";
import { useParam } from "../../shell/router";
import { additionsOf } from "./additions";
import { placeOf, type DrawingFile } from "./drawingFile";
import { useDraftWords } from "./speech";
import { StepList } from "./StepList";
import { openTodos, type Draft, type Todo } from "./types";

const DraftDrawing = lazy(() => import("./DraftDrawing"));
const Canvas = lazy(() => import("../../net/Canvas"));
const NOTHING = {};

interface Props {
  draft: Draft;
  file: DrawingFile;
  /** The text that is drawn. */
  xml: string | null;
  error: unknown;
  preview: boolean;
  /** The one whose net is shown. */
  definition: string;
  inspected: Inspected | null;
  inspecting: boolean;
  playback: Playback | null;
  onPlay: (playback: Playback | null) => void;
  todo: Todo | null;
  element: string | null;
  onTodo: (todo: Todo) => void;
  onElement: (id: string | null) => void;
}

export function DraftPicture({ draft, file, xml, error, preview, definition, inspected, inspecting, playback, onPlay, todo, element, onTodo, onElement }: Props): ReactNode {
  const { d } = useDraftWords();
  const phone = useNarrow();
  const [show, setShow] = useParam("show");
  const [wanted, setView] = useParam("view");
  const [, setDefinition] = useParam("of");
  const [broken, setBroken] = useState(false);
  const additions = useMemo(() => additionsOf(draft, file), [draft, file]);
  const open = openTodos(draft);
  const todos = useMemo(() => (show === "open" ? open : draft.todos), [show, draft.todos]);
  const view = phone || (broken && wanted !== "net") ? "list" : wanted === "net" || wanted === "list" ? wanted : "bpmn";
  const place = todo ? placeOf(file, todo) : element;
  if (playback && inspected) return <DrawingPane inspected={inspected} old={false} playback={playback} onPlay={onPlay} selected={element} onPick={onElement} />;
  return (
    <div className={`def-picture draft-picture ${preview ? "draft-preview" : ""}`}>
      <div className="run-tools">
        <Segment label={d.filter} value={show === "open" ? "open" : "all"} onChange={(next) => setShow(next === "open" ? "open" : null)} options={[{ id: "open", text: d.filterOpen(open.length), icon: CircleDot }, { id: "all", text: d.filterAll(draft.todos.length), icon: Layers }]} />
        {view === "net" && draft.definitions.length > 1 && <Segment label={d.definitionOf} value={definition} onChange={setDefinition} options={draft.definitions.map(({ id, name }) => ({ id, text: name }))} />}
        <span className="grow" />
        {!phone && <Segment label={d.views} value={view} onChange={(next) => setView(next === "bpmn" ? null : next)} options={[{ id: "bpmn", text: d.bpmn, icon: Workflow }, { id: "net", text: d.net, icon: Waypoints }, { id: "list", text: d.list, icon: List }]} />}
      </div>
      {xml === null ? (error ? <Failed error={error} /> : <div className="pad"><Skeleton h={360} /></div>)
        : view === "list" ? <StepList file={file} todos={todos} selected={place} onTodo={onTodo} onElement={onElement} />
        : view === "net" ? (inspected?.graph ? <Suspense fallback={null}><Canvas graph={inspected.graph} mode="tokens" selected={place} past={false} since={NOTHING} viewport={null} onPick={(id) => { const own = id === null ? undefined : draft.todos.find((each) => each.element === id); if (own) onTodo(own); else onElement(id); }} onFail={() => setView("list")} /></Suspense> : <div className="def-nothing draft-nonet">{inspecting ? <Skeleton h={48} n={3} /> : <p className="dim">{d.noNet}</p>}</div>)
        : <Suspense fallback={null}><DraftDrawing xml={xml} file={file} todos={todos} additions={additions} taken={preview} todo={todo} element={element} onTodo={onTodo} onElement={onElement} onFail={() => setBroken(true)} /></Suspense>}
    </div>
  );
}
