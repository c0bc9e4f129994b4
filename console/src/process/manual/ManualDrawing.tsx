/** The drawing of a manual: how sure every element is, in amber where somebody should look, and what is lit. */
import { TriangleAlert } from "lucide-react";
import { useEffect, useMemo, type KeyboardEvent, type ReactNode } from "react";
import { createPortal } from "react-dom";
import { connectionOf, middleOf, type Drawn, type Element } from "../bpmn/elements";
import { useViewer, ZoomTools } from "../bpmn/viewer";
import { intoOf, outOf, type DrawingFile } from "../draft/drawingFile";
import { kindOf } from "./names";
import { useManualWords } from "./speech";
import { isDoubtful, keyOf, percent, type ReadElement } from "./types";

interface Props {
  xml: string;
  file: DrawingFile;
  elements: ReadElement[];
  lit: Set<string>;
  selected: ReadElement | null;
  onPick: (element: ReadElement | null) => void;
  onFail: () => void;
}

const DRAWN = ["activities", "gateways", "events", "transitions"];

/** Smaller, names and percents cannot be read. */
const READABLE = 0.72;

interface Place {
  element: ReadElement;
  shape: Element;
  isFlow: boolean;
}

export default function ManualDrawing({ xml, file, elements, lit, selected, onPick, onFail }: Props): ReactNode {
  const { m } = useManualWords();
  const known = useMemo(() => new Map(elements.filter(({ collection }) => DRAWN.includes(collection)).map((element) => [element.id, element])), [elements]);
  const { wrap, drawn, zoom } = useViewer(xml, onFail, (clicked) => onPick(clicked.parent ? (known.get(clicked.id) ?? null) : null), {
    least: READABLE, at: (read) => { const all = placesOf(known, read); return (all.find(({ element }) => lit.has(keyOf(element))) ?? leftmost(all))?.shape; },
  });
  const places = useMemo(() => (drawn ? placesOf(known, drawn) : []), [drawn, known]);
  useEffect(() => { drawn?.mark(classesOf(places, lit)); }, [drawn, places, lit]);
  const first = places.find(({ element }) => lit.has(keyOf(element)));
  useEffect(() => { if (first) drawn?.bringIntoView(first.shape); }, [drawn, first?.shape.id]);
  const move = (id: string, event: KeyboardEvent) => {
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    event.stopPropagation();
    const next = event.key === "ArrowRight" || event.key === "ArrowDown" ? outOf(file, id)[0]?.target : intoOf(file, id)[0]?.source;
    if (next) wrap.current?.querySelector<HTMLElement>(`[data-node="${CSS.escape(next)}"]`)?.focus();
  };
  return (
    <div className="net bpmn draft-drawing manual-drawing" role="group" aria-label={m.canvas}>
      <div className="bpmn-canvas" ref={wrap} aria-busy={!drawn} />
      {drawn && <ZoomTools drawn={drawn} zoom={zoom} />}
      {drawn && places.map(({ element, shape, isFlow }) => {
        const chosen = selected !== null && keyOf(selected) === keyOf(element);
        const doubt = isDoubtful(element);
        const n = percent(element.confidence);
        const said = doubt ? m.doubt(n) : m.confidence(n);
        if (isFlow) {
          if (!doubt && !lit.has(keyOf(element))) return null; // a chip on every arrow would hide the drawing
          return createPortal(<button type="button" className={`manual-chip-at manual-sure ${doubt ? "manual-sure-low" : ""}`} data-sure={element.id} aria-pressed={chosen} title={said} onClick={() => onPick(element)}>{doubt && <TriangleAlert size={10} strokeWidth={2.4} aria-hidden />}{n}%<span className="sr">, {element.name || kindOf(element, file, m)}, {said}</span></button>, flowBox(drawn, shape), keyOf(element));
        }
        return createPortal(
          <>
            <button type="button" className={`bpmn-hit ${lit.has(keyOf(element)) ? "draft-selected" : ""}`} data-node={element.id} aria-pressed={chosen} onClick={() => onPick(chosen ? null : element)} onKeyDown={(event) => move(element.id, event)}><span className="sr">{element.name || kindOf(element, file, m)}, {said}</span></button>
            <span className={`manual-sure manual-sure-on ${isSmall(shape) ? (isNamedAbove(drawn, shape) ? "manual-sure-under" : "manual-sure-small") : ""} ${doubt ? "manual-sure-low" : ""}`} data-sure={element.id} aria-hidden>{doubt && <TriangleAlert size={10} strokeWidth={2.4} />}{n}%</span>
          </>, drawn.box(shape), keyOf(element));
      })}
    </div>
  );
}

function placesOf(known: Map<string, ReadElement>, drawn: Drawn): Place[] {
  return [...known.values()].flatMap((element): Place[] => {
    const shape = drawn.shapes.get(element.id);
    if (shape) return [{ element, shape, isFlow: false }];
    const flow = connectionOf(drawn, element.id);
    return flow?.waypoints ? [{ element, shape: flow, isFlow: true }] : [];
  });
}

const leftmost = (places: Place[]): Place | undefined => places.filter(({ isFlow }) => !isFlow).reduce<Place | undefined>((first, place) => ((place.shape.x ?? 0) < (first?.shape.x ?? Infinity) ? place : first), undefined);

/** An event or a gateway has no room in it. */
const isSmall = (shape: Element): boolean => (shape.width ?? 0) < 60;

const isNamedAbove = (drawn: Drawn, shape: Element): boolean => (drawn.labels.get(shape.id)?.y ?? Infinity) < (shape.y ?? 0);

function flowBox(drawn: Drawn, flow: Element): HTMLElement {
  return drawn.spot(flow, "sure", middleOf(flow.waypoints ?? []));
}

function classesOf(places: Place[], lit: Set<string>): Map<string, string> {
  const classes = new Map<string, string>();
  for (const { element, shape, isFlow } of places) {
    const on = lit.has(keyOf(element));
    const doubt = isDoubtful(element);
    if (isFlow && (on || doubt)) classes.set(shape.id, on ? "manual-flow-lit" : "manual-flow-low");
    else if (doubt) classes.set(shape.id, "manual-low");
  }
  return classes;
}
