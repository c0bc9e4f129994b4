/** The elements that bpmn-js has drawn: which node or edge of the graph each is, and the box of its overlay. */
import type NavigatedViewer from "bpmn-js/lib/NavigatedViewer";
import type { Graph } from "../../api/types";

interface Point {
  x: number;
  y: number;
}

export interface Element {
  id: string;
  x?: number;
  y?: number;
  children?: Element[];
  width?: number;
  height?: number;
  waypoints?: Point[];
  source?: Element;
  target?: Element;
  labelTarget?: Element;
  businessObject?: { id: string; extensionElements?: { values?: { $type: string; $body?: string }[] } };
}

interface Canvas {
  zoom: (to?: number | "fit-viewport", center?: "auto") => number;
  addMarker: (id: string, marker: string) => void;
  removeMarker: (id: string, marker: string) => void;
  viewbox: () => { inner: { width: number; height: number } };
  getSize: () => { width: number; height: number };
  scrollToElement: (id: string, padding: number) => void;
}

/** A node or an edge of the graph, its element in the drawing, and the box of its overlay. */
export interface Place {
  id: string;
  element: string;
  label: string;
  box: HTMLElement;
  /** An event or a gateway: there is no room in it. */
  small: boolean;
}

export interface Drawn {
  shapes: Map<string, Element>;
  connections: Element[];
  /** By what they name, texts that stand beside it. */
  labels: Map<string, Element>;
  box: (element: Element) => HTMLElement;
  /** Another box, at an offset from the corner of an element. */
  spot: (element: Element, name: string, at: { left: number; top: number }) => HTMLElement;
  bringIntoView: (element: Element) => void;
  mark: (marks: Map<string, string>) => void;
  zoom: () => number;
  step: (by: 1 | -1) => void;
  fit: () => void;
  /** So large that it can be read, with an element in view. */
  enlarge: (scale: number, element: Element) => void;
}

/** A picture that is smaller than the screen is not blown up. */
const LARGEST = 1;
/** A margin: names stand below their shapes. */
const ROOM = 0.93;
/** What is brought into view stays clear of the tools at the edges, in px. */
const VISIBLE_MARGIN = 90;

export function readDrawing(viewer: NavigatedViewer): Drawn {
  const canvas = viewer.get<Canvas>("canvas");
  const overlays = viewer.get<{ add: (id: string, type: string, overlay: object) => string }>("overlays");
  const all = viewer.get<{ getAll: () => Element[] }>("elementRegistry").getAll();
  const zoomer = viewer.get<{ stepZoom: (by: number) => void }>("zoomScroll");
  const shapes = new Map<string, Element>();
  const connections: Element[] = [];
  const labels = new Map<string, Element>();
  for (const element of all) {
    if (element.labelTarget) { labels.set(element.labelTarget.id, element); continue; }
    if (element.waypoints) connections.push(element);
    else shapes.set(ownId(element), element);
  }
  const boxes = new Map<string, HTMLElement>();
  let shown = new Map<string, string>();
  return {
    shapes, connections, labels,
    spot: (element, name, at) => {
      const key = `${element.id} ${name}`;
      let box = boxes.get(key);
      if (!box) {
        box = document.createElement("div");
        box.className = "bpmn-way";
        overlays.add(element.id, "penstock", { position: at, html: box });
        boxes.set(key, box);
      }
      return box;
    },
    bringIntoView: (element) => canvas.scrollToElement(element.id, VISIBLE_MARGIN),
    box: (element) => {
      let box = boxes.get(element.id);
      if (!box) {
        box = document.createElement("div");
        box.className = element.waypoints ? "bpmn-way" : "bpmn-over";
        const at = element.waypoints ? beforeEnd(element.waypoints) : { left: 0, top: 0 };
        if (!element.waypoints) {
          box.style.width = `${element.width ?? 0}px`;
          box.style.height = `${element.height ?? 0}px`;
        }
        overlays.add(element.id, "penstock", { position: at, html: box });
        boxes.set(element.id, box);
      }
      return box;
    },
    mark: (marks) => {
      for (const [id, mark] of shown) if (marks.get(id) !== mark) canvas.removeMarker(id, mark);
      for (const [id, mark] of marks) if (shown.get(id) !== mark) canvas.addMarker(id, mark);
      shown = marks;
    },
    zoom: () => canvas.zoom(),
    step: (by) => zoomer.stepZoom(by),
    enlarge: (scale, element) => { canvas.zoom(scale); canvas.scrollToElement(element.id, VISIBLE_MARGIN); },
    fit: () => {
      // what is not laid out yet, or holds nothing, has no scale
      const { inner } = canvas.viewbox(), size = canvas.getSize();
      if (!(size.width > 0 && size.height > 0 && inner.width > 0 && inner.height > 0)) return;
      const fitted = canvas.zoom("fit-viewport", "auto");
      canvas.zoom(Math.min(fitted * ROOM, LARGEST), "auto");
    },
  };
}

/** The author's id: one that XML cannot hold is kept beside it. */
export function ownId(element: Element): string {
  const settings = element.businessObject?.extensionElements?.values?.find((extension) => extension.$type.endsWith(":settings"))?.$body;
  try {
    const id = settings ? (JSON.parse(settings) as { id?: unknown }).id : null;
    return typeof id === "string" ? id : (element.businessObject?.id ?? element.id);
  } catch {
    return element.businessObject?.id ?? element.id;
  }
}

/** By the author's id, or by the drawing's. */
export const connectionOf = (drawn: Drawn, id: string): Element | undefined => drawn.connections.find((connection) => ownId(connection) === id || connection.id === id);

/** The middle of the longest part of a connection, as an offset from the corner of its box. */
export function middleOf(points: Point[]): { left: number; top: number } {
  const [x, y] = [Math.min(...points.map((point) => point.x)), Math.min(...points.map((point) => point.y))];
  let middle = { left: 0, top: 0 }, longest = -1;
  for (let i = 1; i < points.length; i++) {
    const [from, to] = [points[i - 1], points[i]] as [Point, Point];
    const length = Math.hypot(to.x - from.x, to.y - from.y);
    if (length > longest) { longest = length; middle = { left: (from.x + to.x) / 2 - x, top: (from.y + to.y) / 2 - y }; }
  }
  return middle;
}

/** A little before the end of a connection, as an offset from the corner of its box. */
function beforeEnd(points: Point[]): { left: number; top: number } {
  const [x, y] = [Math.min(...points.map((point) => point.x)), Math.min(...points.map((point) => point.y))];
  const end = points.at(-1) ?? { x, y };
  const before = points.at(-2) ?? end;
  const length = Math.hypot(end.x - before.x, end.y - before.y) || 1;
  const back = Math.min(18, length / 2);
  return { left: end.x - ((end.x - before.x) / length) * back - x, top: end.y - ((end.y - before.y) / length) * back - y };
}

export function placesOf(drawn: Drawn, graph: Graph): { nodes: Place[]; edges: Place[] } {
  const nodes = graph.nodes.flatMap((node) => {
    const element = drawn.shapes.get(node.id);
    return element ? [{ id: node.id, element: element.id, label: node.label, box: drawn.box(element), small: (element.width ?? 0) < 60 }] : [];
  });
  const elements = new Map(nodes.map((node) => [node.id, node.element]));
  const edges = graph.edges.flatMap((edge) => {
    const connection = drawn.connections.find((candidate) => ownId(candidate) === edge.id) ?? drawn.connections.find(({ source, target }) => source && target && source.id === elements.get(edge.from) && target.id === elements.get(edge.to));
    return connection ? [{ id: edge.id, element: connection.id, label: edge.label ?? "", box: drawn.box(connection), small: true }] : [];
  });
  return { nodes, edges };
}
