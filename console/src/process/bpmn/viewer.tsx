/** A BPMN file on the screen: bpmn-js draws it in the console's colours, it fits its room, and it can be zoomed. */
import "bpmn-js/dist/assets/diagram-js.css";
import "../../net/net.css";
import "./bpmn.css";
import NavigatedViewer from "bpmn-js/lib/NavigatedViewer";
import { Maximize, Minus, Plus } from "lucide-react";
import { useCallback, useEffect, useRef, useState, type ReactNode, type RefObject } from "react";
import { useKeys } from "../../shell/keys";
import { useWords } from "../../words";
import { readDrawing, type Drawn, type Element } from "./elements";

const COLOURS = { defaultFillColor: "var(--surface)", defaultStrokeColor: "var(--bpmn-line)", defaultLabelColor: "var(--text)" };
/** bpmn-js measures texts on a canvas, which knows no CSS variables. */
const textStyle = () => ({ defaultStyle: { fontFamily: getComputedStyle(document.documentElement).fontFamily, fontSize: 12 }, externalStyle: { fontSize: 11.5 } });

/** What was clicked: without a parent it is the empty room around the drawing. */
export interface Clicked {
  id: string;
  parent?: unknown;
}

/** A drawing that is larger than the screen begins so large that it can be read, at an element. */
export interface Beginning {
  least: number;
  at: (drawn: Drawn) => Element | undefined;
}

export function useViewer(xml: string, onFail: () => void, onClick: (element: Clicked) => void, beginning?: Beginning): { wrap: RefObject<HTMLDivElement | null>; drawn: Drawn | null; zoom: number } {
  const wrap = useRef<HTMLDivElement>(null);
  const [drawn, setDrawn] = useState<Drawn | null>(null);
  const [zoom, setZoom] = useState(1);
  const act = useRef({ onFail, onClick, beginning });
  act.current = { onFail, onClick, beginning };
  const begin = (read: Drawn) => {
    read.fit();
    const { least = 0, at } = act.current.beginning ?? {};
    const element = read.zoom() < least ? at?.(read) : undefined;
    if (element) read.enlarge(least, element);
  };

  useEffect(() => {
    if (!wrap.current) return;
    const viewer = new NavigatedViewer({ container: wrap.current, bpmnRenderer: COLOURS, textRenderer: textStyle() });
    let gone = false;
    // lines are broken by the width of their letters, so the font must be loaded
    const letters = [...new Set((xml.match(/name="[^"]*"/g) ?? []).join(""))].join("");
    document.fonts.load('12px "Pretendard Variable"', letters).catch(() => []).then(() => (gone ? null : viewer.importXML(xml))).then(() => {
      if (gone) return;
      const read = readDrawing(viewer);
      viewer.on("canvas.viewbox.changed", () => setZoom(read.zoom()));
      viewer.on("element.click", ({ element }: { element: Clicked }) => act.current.onClick(element));
      begin(read);
      setZoom(read.zoom());
      setDrawn(read);
    }, () => !gone && act.current.onFail());
    return () => {
      gone = true;
      setDrawn(null);
      viewer.destroy();
    };
  }, [xml]);

  useEffect(() => {
    if (!drawn || !wrap.current) return;
    let last = 0;
    const observer = new ResizeObserver(([entry]) => {
      const width = entry?.contentRect.width ?? 0;
      if (width > 0 && Math.abs(width - last) > 40) begin(drawn);
      last = width;
    });
    observer.observe(wrap.current);
    return () => observer.disconnect();
  }, [drawn]);
  return { wrap, drawn, zoom };
}

export function ZoomTools({ drawn, zoom }: { drawn: Drawn; zoom: number }): ReactNode {
  const { t } = useWords();
  const fit = useCallback(() => drawn.fit(), [drawn]);
  useKeys({ f: fit });
  return (
    <>
      <div className="net-zoom">
        <button type="button" aria-label={t.run.zoomOut} onClick={() => drawn.step(-1)}><Minus size={14} aria-hidden /></button>
        <span>{Math.round(zoom * 100)}%</span>
        <button type="button" aria-label={t.run.zoomIn} onClick={() => drawn.step(1)}><Plus size={14} aria-hidden /></button>
      </div>
      <button type="button" className="btn net-fit" aria-label={t.run.fit} title={`${t.run.fit} (f)`} onClick={fit}><Maximize size={15} aria-hidden /></button>
    </>
  );
}
