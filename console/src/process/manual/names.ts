/** What an element is called, and what it is, in the words of the drawing. */
import type { DrawingFile } from "../draft/drawingFile";
import type { Links } from "./links";
import type { ReadElement } from "./types";
import type { ManualWords } from "./words.ko";

/** A flow without a name is called by its ends. */
export function elementName(element: ReadElement, file: DrawingFile, links: Links): string {
  if (element.name && element.name !== element.id) return element.name;
  const flow = file.flows.get(element.id);
  if (!flow) return file.elements.get(element.id)?.name || element.name || element.id;
  const end = (id: string): string => file.elements.get(id)?.name || [...links.elements.values()].find((each) => each.id === id)?.name || id;
  return flow.name || `${end(flow.source)} → ${end(flow.target)}`;
}

export function kindOf(element: ReadElement, file: DrawingFile, m: ManualWords): string {
  const type = file.elements.get(element.id)?.type;
  return (type && m.elements_[type]) || m.collection[element.collection] || element.collection;
}
