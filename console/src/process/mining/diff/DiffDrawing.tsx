/** Both models in one drawing, in the layout of the base: what is new, gone or changed, with its evidence on it. */
import { Minus, Pencil, Plus } from "lucide-react";
import { useEffect, useMemo, type ReactNode } from "react";
import { createPortal } from "react-dom";
import { middleOf, type Drawn, type Element } from "../../bpmn/elements";
import { useViewer, ZoomTools } from "../../bpmn/viewer";
import { STEP_MS, type ReplayToken } from "../replay";
import { changeText, useMiningWords } from "../speech";
import { flowsOf, type ChangeKind, type MiningMap, type ModelDiff } from "../types";
import { classesOf, idsOf, isShown, marksOf, NO_CHANGE, type ElementMark, type Look } from "./changeMarks";
import { countsOf, lineOf, waysOf } from "./ways";

interface Props {
  diff: ModelDiff;
  look: Look;
  chosen: number | null;
  /** The history, when its counts are laid over the drawing. */
  counted: MiningMap | null;
  tokens: ReplayToken[];
  onChoose: (change: number | null) => void;
  onFail: () => void;
}

export const KIND_ICON = { added: Plus, removed: Minus, changed: Pencil } as const;
export const KIND_TONE: Record<ChangeKind, string> = { added: "tone-done", removed: "tone-failed", changed: "tone-held" };

export default function DiffDrawing({ diff, look, chosen, counted, tokens, onChoose, onFail }: Props): ReactNode {
  const { m, f } = useMiningWords();
  const { wrap, drawn, zoom } = useViewer(diff.merged_bpmn, onFail, (clicked) => {
    const mark = marks.find(({ element }) => element.id === clicked.id);
    onChoose(mark && look === "diff" && mark.change !== NO_CHANGE ? mark.change : null);
  });
  const halves = useMemo(() => ({ base: idsOf(diff.base_bpmn), model: idsOf(diff.model_bpmn) }), [diff.base_bpmn, diff.model_bpmn]);
  const marks = useMemo(() => (drawn ? marksOf(diff.changes, drawn, halves) : []), [drawn, diff.changes, halves]);
  useEffect(() => { drawn?.mark(classesOf(marks, drawn, look, chosen)); }, [drawn, marks, look, chosen]);
  useEffect(() => {
    const first = marks.find(({ change }) => change === chosen);
    if (drawn && first) drawn.bringIntoView(first.element);
  }, [drawn, marks, chosen]);
  const ways = useMemo(() => {
    if (!drawn) return null;
    const away = new Set(marks.filter(({ kind }) => !isShown(kind, look)).map(({ element }) => element.id));
    return waysOf(drawn, ({ id }) => !away.has(id));
  }, [drawn, marks, look]);
  const counts = useMemo(() => (ways && counted ? countsOf(ways, counted.flows) : null), [ways, counted]);
  const titleOf = (number: number) => { const change = diff.changes[number]; return change ? changeText(change, m).title : ""; };
  return (
    <div className="net bpmn mine-drawing" role="group" aria-label={m.diff.canvas}>
      <div className="bpmn-canvas" ref={wrap} aria-busy={!drawn} />
      {drawn && <ZoomTools drawn={drawn} zoom={zoom} />}
      {drawn && look === "diff" && marks.filter(({ element, change }) => !element.waypoints && change !== NO_CHANGE).map(({ element, kind, change }) => createPortal(<Badge kind={kind} on={change === chosen} label={`${m.diff.kinds[kind]}: ${titleOf(change)}`} onPress={() => onChoose(change)} />, drawn.spot(element, "change", { left: element.width ?? 0, top: 0 }), `badge ${element.id}`))}
      {drawn && look === "diff" && !counts && diff.changes.map((change, number) => {
        const box = chipBox(drawn, change.kind, marks.filter((mark) => mark.change === number));
        return box && createPortal(<button type="button" tabIndex={-1} className={`mine-chip mine-chip-${change.kind}`} onClick={() => onChoose(number)}>{m.diff.chip(f.number(change.cases), f.number(diff.cases))}</button>, box, `chip ${number}`);
      })}
      {drawn && ways && counted && counted.activities.map((activity) => {
        const shape = ways.activities.get(activity.name);
        return shape && createPortal(<span className="bpmn-told">{f.number(activity.count)}</span>, drawn.spot(shape, "count", { left: (shape.width ?? 0) / 2, top: shape.height ?? 0 }), `count ${shape.id}`);
      })}
      {drawn && counts && drawn.connections.map((connection) => {
        const count = counts.get(connection.id);
        return count && connection.waypoints && createPortal(<span className="mine-passed">{f.number(count)}</span>, drawn.spot(connection, "passed", middleOf(connection.waypoints)), `passed ${connection.id}`);
      })}
      {drawn && ways?.begin && createPortal(<>{tokens.map((token) => {
        const step = flowsOf(token.variant)[token.step];
        const line = step && lineOf(ways, step.source, step.target);
        return line && <span key={`${token.key} ${token.step}`} className={`mine-drop ${line.isAllowed ? "" : "mine-drop-bad"}`} style={{ offsetPath: `path("${line.d}")`, animationDuration: `${STEP_MS}ms` }} aria-hidden />;
      })}</>, drawn.spot(ways.begin, "replay", { left: -(ways.begin.x ?? 0), top: -(ways.begin.y ?? 0) }), "replay")}
    </div>
  );
}

function Badge({ kind, on, label, onPress }: { kind: ChangeKind; on: boolean; label: string; onPress: () => void }): ReactNode {
  const Icon = KIND_ICON[kind];
  return <button type="button" className={`mine-badge ${KIND_TONE[kind]}`} aria-pressed={on} aria-label={label} title={label} onClick={onPress}><Icon size={12} strokeWidth={2.8} aria-hidden /></button>;
}

/** In the middle of its longest connection; below its shape when it has none. */
function chipBox(drawn: Drawn, kind: ChangeKind, all: ElementMark[]): HTMLElement | null {
  // what is gone may lie under what is new, and what stays is not what a removal is about
  const own = all.filter((mark) => (mark.kind === "removed") === (kind === "removed"));
  const marks = own.length > 0 ? own : all;
  const connections = marks.map(({ element }) => element).filter((element): element is Element & { waypoints: NonNullable<Element["waypoints"]> } => element.waypoints !== undefined);
  const shape = marks.find(({ element }) => !element.waypoints)?.element;
  const longest = connections.sort((a, b) => lengthOf(b.waypoints) - lengthOf(a.waypoints))[0];
  if (longest && (!shape || lengthOf(longest.waypoints) > ROOM)) return drawn.spot(longest, "chip", middleOf(longest.waypoints));
  return shape ? drawn.spot(shape, "chip", { left: (shape.width ?? 0) / 2, top: (shape.height ?? 0) + 14 }) : null;
}

/** A connection that is shorter has no room for a chip. */
const ROOM = 110;
const lengthOf = (points: { x: number; y: number }[]): number => points.slice(1).reduce((sum, point, i) => sum + Math.hypot(point.x - (points[i]?.x ?? 0), point.y - (points[i]?.y ?? 0)), 0);
