/** Which elements of the drawing a change is about, and how each is marked. */
import { ownId, type Drawn, type Element } from "../../bpmn/elements";
import { readFile } from "../../draft/drawingFile";
import type { ChangeKind, ModelChange } from "../types";

/** Both in one drawing, or one of them: no shape moves. */
export type Look = "diff" | "base" | "model";

export interface ElementMark {
  element: Element;
  kind: ChangeKind;
  change: number;
}

/** What each drawing has by itself. */
export interface Halves {
  base: ReadonlySet<string>;
  model: ReadonlySet<string>;
}

/** The ids of a drawing's elements. */
export const idsOf = (xml: string): Set<string> => { const { elements, flows } = readFile(xml); return new Set([...elements.keys(), ...flows.keys()]); };

const kindOf = ({ id }: Element, { base, model }: Halves): ChangeKind => (!base.has(id) && model.has(id) ? "added" : base.has(id) && !model.has(id) ? "removed" : "changed");

/** The elements of the changes, and every other one that only one of the models has. */
export function marksOf(changes: ModelChange[], drawn: Drawn, halves: Halves): ElementMark[] {
  const own = new Map([...drawn.shapes.values(), ...drawn.connections].map((element) => [ownId(element), element]));
  const marks = changes.flatMap(({ elements }, change) => elements.flatMap((id) => {
    const element = own.get(id);
    return element ? [{ element, kind: kindOf(element, halves), change }] : [];
  }));
  const told = new Set(marks.map(({ element }) => element.id));
  const others = [...own.values()].filter((element) => !told.has(element.id) && halves.base.has(element.id) !== halves.model.has(element.id));
  return [...marks, ...others.map((element) => ({ element, kind: kindOf(element, halves), change: NO_CHANGE }))];
}

/** Of an element that no row tells of. */
export const NO_CHANGE = -1;

const ABSENT: Record<Look, ChangeKind | null> = { diff: null, base: "added", model: "removed" };

export const isShown = (kind: ChangeKind, look: Look): boolean => ABSENT[look] !== kind;

/** By element, its class: one that only the other model has is hidden, with its name. */
export function classesOf(marks: ElementMark[], drawn: Drawn, look: Look, chosen: number | null): Map<string, string> {
  const classes = new Map<string, string>();
  for (const { element, kind, change } of marks) {
    const name = drawn.labels.get(element.id);
    if (!isShown(kind, look)) {
      classes.set(element.id, "mine-away");
      if (name) classes.set(name.id, "mine-away");
    } else if (look === "diff") {
      classes.set(element.id, `mine-${kind}${change === chosen ? "-chosen" : ""}`);
      if (name) classes.set(name.id, `mine-${kind}-name`);
    }
  }
  return classes;
}
