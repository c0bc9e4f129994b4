/** Which elements of the drawing a change is about, and how each is marked. */
import { ownId, type Drawn, type Element } from "../../bpmn/elements";
import type { ChangeKind, ModelChange } from "../types";

/** Both in one drawing, or one of them: no shape moves. */
export type Look = "diff" | "base" | "model";

export interface ElementMark {
  element: Element;
  kind: ChangeKind;
  change: number;
}

export function marksOf(changes: ModelChange[], drawn: Drawn): ElementMark[] {
  const connections = new Map(drawn.connections.map((connection) => [ownId(connection), connection]));
  return changes.flatMap(({ kind, elements }, change) => elements.flatMap((id) => {
    const element = drawn.shapes.get(id) ?? connections.get(id);
    return element ? [{ element, kind, change }] : [];
  }));
}

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
