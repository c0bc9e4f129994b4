/** The elements as a reader meets them: along the flow, then what is not drawn. */
import type { DrawingFile } from "../draft/drawingFile";
import type { ManualRead, ReadElement } from "./types";

export function inReadingOrder(read: ManualRead, file: DrawingFile): ReadElement[] {
  const place = new Map(file.processes.flatMap(({ elements }) => elements).map(({ id }, i) => [id, i]));
  const nodes = place.size;
  const after = (element: ReadElement): number => {
    const flow = file.flows.get(element.id);
    return place.get(element.id) ?? (flow ? (place.get(flow.source) ?? nodes) + 0.5 : nodes + 1);
  };
  return read.elements.map((element, i) => ({ element, at: after(element), i })).sort((a, b) => a.at - b.at || a.i - b.i).map(({ element }) => element);
}
