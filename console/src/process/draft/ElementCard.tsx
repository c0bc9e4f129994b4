/** An element of the drawing without a to-do: what it is, where it leads, and what the file says about it in its tool's words. */
import { ArrowRight, X } from "lucide-react";
import { useEffect, useRef, type ReactNode } from "react";
import { Button } from "../../components";
import { outOf, type DrawingFile, type FileElement } from "./drawingFile";
import { useDraftWords } from "./speech";

export function ElementCard({ file, element, onPick, onClose }: { file: DrawingFile; element: FileElement; onPick: (id: string) => void; onClose: () => void }): ReactNode {
  const { d } = useDraftWords();
  const card = useRef<HTMLElement>(null);
  useEffect(() => { card.current?.scrollIntoView({ block: "nearest" }); }, [element.id]);
  const ways = outOf(file, element.id);
  return (
    <section ref={card} className="draft-element" aria-label={d.element}>
      <header><div className="grow"><h3>{element.name || element.id}</h3><p className="dim small">{d.elements[element.type] ?? element.type}{element.lane && ` · ${element.lane}`} · <span className="mono">{element.id}</span></p></div><Button look="icon" aria-label={d.close} onClick={onClose}><X size={16} aria-hidden /></Button></header>
      {ways.length > 0 && <ul className="inspect-list inspect-ways" aria-label={d.ways}>{ways.map((flow) => <li key={flow.id}><ArrowRight size={14} aria-hidden /><span>{flow.name && <span className="tag">{flow.name}</span>} <button type="button" className="linklike" onClick={() => onPick(flow.target)}>{file.elements.get(flow.target)?.name || flow.target}</button></span></li>)}</ul>}
      <VendorWords element={element} />
    </section>
  );
}

/** The attributes that a vendor's tool wrote, by its own names. */
export function VendorWords({ element }: { element: FileElement }): ReactNode {
  const { d } = useDraftWords();
  if (element.vendor.length === 0) return <p className="dim small">{d.nothingInFile}</p>;
  return (
    <div className="draft-vendor">
      <h4>{d.inFile} <span className="dim">{d.inFileAbout}</span></h4>
      <dl>{element.vendor.map(({ name, value }, i) => <div key={i}><dt className="mono">{name}</dt><dd className="mono">{value || "✓"}</dd></div>)}</dl>
    </div>
  );
}
