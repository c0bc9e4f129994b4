/** How sure an element is, in percent; below what is enough it is amber and says so. */
import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { useManualWords } from "./speech";
import { isDoubtful, percent, type ReadElement } from "./types";

export function Sure({ element }: { element: ReadElement }): ReactNode {
  const { m } = useManualWords();
  const n = percent(element.confidence);
  const doubt = isDoubtful(element);
  return <span className={`manual-sure ${doubt ? "manual-sure-low" : ""}`} title={doubt ? m.doubt(n) : m.confidence(n)}>{doubt && <TriangleAlert size={11} strokeWidth={2.4} aria-hidden />}<span aria-hidden>{n}%</span><span className="sr">{doubt ? m.doubt(n) : m.confidence(n)}</span></span>;
}
