/** The drawing as it was brought, with a number at every to-do and what its proposals would add. */
import { Check, CopyPlus } from "lucide-react";
import { useEffect, useMemo, type KeyboardEvent, type ReactNode } from "react";
import { createPortal } from "react-dom";
import { middleOf, type Drawn, type Element } from "../bpmn/elements";
import { useViewer, ZoomTools } from "../bpmn/viewer";
import type { Additions } from "./additions";
import { intoOf, outOf, placeOf, type DrawingFile } from "./drawingFile";
import { titleOf } from "./sentences";
import { useDraftWords } from "./speech";
import type { Todo } from "./types";

interface Props {
  xml: string;
  file: DrawingFile;
  /** Those whose marks are shown. */
  todos: Todo[];
  additions: Additions;
  /** All proposals are shown as taken. */
  taken: boolean;
  todo: Todo | null;
  element: string | null;
  onTodo: (todo: Todo) => void;
  onElement: (id: string | null) => void;
  onFail: () => void;
}

interface Mark {
  place: string;
  todos: Todo[];
}

export default function DraftDrawing({ xml, file, todos, additions, taken, todo, element, onTodo, onElement, onFail }: Props): ReactNode {
  const { d } = useDraftWords();
  const marks = useMemo(() => marksOf(todos, file), [todos, file]);
  const pick = (id: string | null) => {
    const own = marks.find(({ place }) => place === id)?.todos;
    const wanted = own?.find(({ state }) => state === "open") ?? own?.[0];
    if (wanted) onTodo(wanted);
    else onElement(id);
  };
  const { wrap, drawn, zoom } = useViewer(xml, onFail, (clicked) => pick(clicked.parent && file.elements.has(clicked.id) ? clicked.id : null));
  useEffect(() => { drawn?.mark(classesOf(marks, additions, file, taken, drawn)); }, [drawn, marks, additions, file, taken]);
  const selected = todo ? placeOf(file, todo) : element;
  useEffect(() => {
    const shape = selected ? (drawn?.shapes.get(selected) ?? drawn?.connections.find(({ id }) => id === selected)) : null;
    if (drawn && shape && !isRoom(shape.id, file)) drawn.bringIntoView(shape);
  }, [drawn, selected]);
  const move = (id: string, event: KeyboardEvent) => {
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    event.stopPropagation();
    const next = event.key === "ArrowRight" || event.key === "ArrowDown" ? outOf(file, id)[0]?.target : intoOf(file, id)[0]?.source;
    if (next) wrap.current?.querySelector<HTMLElement>(`[data-node="${CSS.escape(next)}"]`)?.focus();
  };
  return (
    <div className="net bpmn draft-drawing" role="group" aria-label={d.canvas}>
      <div className="bpmn-canvas" ref={wrap} aria-busy={!drawn} />
      {drawn && <ZoomTools drawn={drawn} zoom={zoom} />}
      {drawn && [...drawn.shapes.values()].filter((shape) => isStep(shape, file)).map((shape) => createPortal(
        <button type="button" className={`bpmn-hit ${selected === shape.id ? "draft-selected" : ""}`} data-node={shape.id} aria-pressed={selected === shape.id} onClick={() => pick(shape.id)} onKeyDown={(event) => move(shape.id, event)}><span className="sr">{file.elements.get(shape.id)?.name || d.elements[file.elements.get(shape.id)?.type ?? ""] || shape.id}</span></button>,
        drawn.box(shape), shape.id))}
      {drawn && marks.map(({ place, todos: own }) => {
        const box = badgeBox(drawn, place, file);
        return box && createPortal(<span className="draft-nos">{own.map((each) => <Badge key={each.key} todo={each} taken={taken} selected={each.key === todo?.key} onTodo={onTodo} />)}</span>, box, `mark ${place}`);
      })}
      {drawn && [...additions.labels].map(([flow, { text, todo: of }]) => {
        const box = choiceBox(drawn, flow);
        return box && createPortal(<button type="button" tabIndex={-1} className={`draft-choice ${taken ? "draft-choice-taken" : ""}`} data-flow={flow} aria-label={d.choice(text)} onClick={() => onTodo(of)}>{text}</button>, box, `label ${flow}`);
      })}
      {drawn && [...additions.pools].map(([pool, { nth, steps, messages, todo: of }]) => {
        const box = roomBox(drawn, pool);
        return box && createPortal(<button type="button" tabIndex={-1} className={`draft-new ${taken ? "draft-choice-taken" : ""}`} onClick={() => onTodo(of)}><CopyPlus size={15} aria-hidden /><span><b>{d.newDefinition(nth)}</b><span>{d.newDefinitionAbout(steps, messages)}</span></span></button>, box, `pool ${pool}`);
      })}
    </div>
  );
}

/** Pools and what holds other elements are not covered by a button: one could not press what is inside. */
const isRoom = (id: string, file: DrawingFile): boolean => ["participant", "lane"].includes(file.elements.get(id)?.type ?? "");
const isStep = (shape: Element, file: DrawingFile): boolean => file.elements.has(shape.id) && !isRoom(shape.id, file) && !shape.children?.some((child) => !child.labelTarget);

function marksOf(todos: Todo[], file: DrawingFile): Mark[] {
  const places = new Map<string, Todo[]>();
  for (const todo of todos) {
    const place = placeOf(file, todo);
    if (place) places.set(place, [...(places.get(place) ?? []), todo]);
  }
  return [...places].map(([place, own]) => ({ place, todos: own }));
}

const connectionOf = (drawn: Drawn, id: string): Element | undefined => drawn.connections.find((connection) => connection.id === id);

const isNamedAbove = (drawn: Drawn, shape: Element): boolean => (drawn.labels.get(shape.id)?.y ?? Infinity) < (shape.y ?? 0);

/** The heading of a lane; the upper right corner of an element, the lower one when its name stands above it, or the middle of a flow. */
function badgeBox(drawn: Drawn, place: string, file: DrawingFile): HTMLElement | null {
  const shape = drawn.shapes.get(place);
  if (shape && file.elements.get(place)?.type === "lane") return drawn.spot(shape, "todo", { left: HEADING / 2, top: HEADING / 2 + 2 });
  if (shape) return drawn.spot(shape, "todo", { left: shape.width ?? 0, top: isNamedAbove(drawn, shape) ? (shape.height ?? 0) : 0 });
  const flow = connectionOf(drawn, place);
  return flow?.waypoints ? drawn.spot(flow, "todo", middleOf(flow.waypoints)) : null;
}

/** In the middle of the flow; its name, which the choice repeats, is hidden meanwhile. */
function choiceBox(drawn: Drawn, flow: string): HTMLElement | null {
  const connection = connectionOf(drawn, flow);
  return connection?.waypoints ? drawn.spot(connection, "choice", middleOf(connection.waypoints)) : null;
}

const HEADING = 30;
const NEW_WIDTH = 262;
const NEW_HEIGHT = 50;

/** Room in a pool that nothing stands in: at its left, else at its upper edge. */
function roomBox(drawn: Drawn, pool: string): HTMLElement | null {
  const shape = drawn.shapes.get(pool);
  if (!shape) return null;
  const [x, y, height] = [shape.x ?? 0, shape.y ?? 0, shape.height ?? 0];
  const left = Math.min(...(shape.children ?? []).filter((child) => !child.waypoints && !child.children?.length).map((child) => child.x ?? Infinity));
  if (left - x - HEADING > NEW_WIDTH + 20) return drawn.spot(shape, "new", { left: HEADING + 16, top: (height - NEW_HEIGHT) / 2 });
  const top = Math.min(...(shape.children ?? []).filter((child) => !child.waypoints).map((child) => child.y ?? Infinity));
  return drawn.spot(shape, "new", { left: HEADING + 16, top: top - y > NEW_HEIGHT + 12 ? 8 : height + 8 });
}

function classesOf(marks: Mark[], additions: Additions, file: DrawingFile, taken: boolean, drawn: Drawn): Map<string, string> {
  const classes = new Map<string, string>();
  for (const { place, todos } of marks) {
    const open = todos.some((todo) => todo.state === "open" && !(taken && todo.proposals.length > 0));
    const shape = drawn.shapes.get(place)?.id ?? connectionOf(drawn, place)?.id;
    if (open && shape && file.elements.get(place)?.type !== "lane") classes.set(shape, file.elements.get(place)?.type === "participant" ? "draft-pool" : file.flows.has(place) ? "draft-flow" : "draft-open");
  }
  if (!taken) for (const flow of additions.flows) if (connectionOf(drawn, flow)) {
    classes.set(flow, "draft-flow");
    const name = drawn.labels.get(flow);
    if (name) classes.set(name.id, "draft-flow-name");
  }
  for (const flow of additions.labels.keys()) {
    const name = drawn.labels.get(flow);
    if (name) classes.set(name.id, "draft-hidden");
  }
  return classes;
}

function Badge({ todo, taken, selected, onTodo }: { todo: Todo; taken: boolean; selected: boolean; onTodo: (todo: Todo) => void }): ReactNode {
  const { t, d } = useDraftWords();
  const done = todo.state === "done" || (taken && todo.proposals.length > 0);
  const title = titleOf(todo, t).text;
  return <button type="button" className={`draft-no ${done ? "tone-done draft-no-done" : "tone-held"}`} data-todo={todo.no} data-kind={todo.kind} aria-pressed={selected} title={title} onClick={() => onTodo(todo)}>{done ? <Check size={12} strokeWidth={3} aria-hidden /> : <span aria-hidden>{todo.no}</span>}<span className="sr">{done ? d.markDone(todo.no, title) : d.markOpen(todo.no, title)}</span></button>;
}
