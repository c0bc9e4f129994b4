/** What an element is called, and what it is, in the words of the drawing. */
import type { DrawingFile } from "../draft/drawingFile";
import type { Links } from "./links";
import type { ReadElement } from "./types";
import type { ManualWords } from "./words.ko";

/** A flow without a name is called by its ends, and anything else by what it is. */
export function elementName(element: ReadElement, file: DrawingFile, links: Links, m: ManualWords): string {
  const own = element.name || file.elements.get(element.id)?.name || file.flows.get(element.id)?.name;
  if (own) return own;
  const flow = file.flows.get(element.id);
  if (!flow) return kindOf(element, file, m);
  const end = (id: string): string => {
    const known = [...links.elements.values()].find((each) => each.id === id && each.collection !== "transitions");
    return file.elements.get(id)?.name || known?.name || (known ? (m.collection[known.collection] ?? id) : id);
  };
  return `${end(flow.source)} → ${end(flow.target)}`;
}

export function kindOf(element: ReadElement, file: DrawingFile, m: ManualWords): string {
  const type = file.elements.get(element.id)?.type;
  return (type && m.drawn[type]) || m.collection[element.collection] || element.collection;
}
