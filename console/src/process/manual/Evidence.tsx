/** What is selected and what belongs to it: the sentences of an element, or the elements of a sentence. */
import { Link2, Quote } from "lucide-react";
import type { ReactNode } from "react";
import type { DrawingFile } from "../draft/drawingFile";
import type { Links, Selection } from "./links";
import { elementName, kindOf } from "./names";
import { useManualWords } from "./speech";
import { Sure } from "./Sure";
import { keyOf, type ReadElement, type Sentence } from "./types";

interface Props {
  file: DrawingFile;
  links: Links;
  selection: Selection;
  onElement: (element: ReadElement) => void;
  onSentence: (sentence: Sentence) => void;
}

export function Evidence({ file, links, selection, onElement, onSentence }: Props): ReactNode {
  const { m } = useManualWords();
  const { element, sentence } = selection;
  if (!element && !sentence) return <p className="manual-evidence manual-hint"><Link2 size={15} aria-hidden />{m.hint}</p>;
  return (
    <section className="manual-evidence" aria-label={m.evidence}>
      {element && (
        <>
          <p className="manual-evidence-head"><Named element={element} file={file} links={links} /> <Sure element={element} /></p>
          <Quotes element={element} links={links} onSentence={onSentence} />
        </>
      )}
      {!element && sentence && (
        <>
          <p className="manual-evidence-head"><Quote size={14} aria-hidden /><span className="dim">{m.elementsOf}</span></p>
          <ul className="manual-chips">{(links.from.get(sentence.id) ?? []).map((each) => <li key={keyOf(each)}><button type="button" className="manual-chip" onClick={() => onElement(each)}><Named element={each} file={file} links={links} /><Sure element={each} /></button></li>)}</ul>
        </>
      )}
    </section>
  );
}

/** What has no name is called by what it is. */
export function Named({ element, file, links }: { element: ReadElement; file: DrawingFile; links: Links }): ReactNode {
  const { m } = useManualWords();
  const [name, kind] = [elementName(element, file, links, m), kindOf(element, file, m)];
  return <><b>{name}</b>{kind !== name && <> <span className="dim small">{kind}</span></>}</>;
}

/** The sentences of an element, each leading to its place in the text. */
export function Quotes({ element, links, onSentence }: { element: ReadElement; links: Links; onSentence: (sentence: Sentence) => void }): ReactNode {
  const { m } = useManualWords();
  const sentences = element.sentences.flatMap((id) => links.sentences.get(id) ?? []);
  if (sentences.length === 0) return <p className="ink-held small">{m.noSentence}</p>;
  return <ul className="manual-quotes" aria-label={m.evidenceOf}>{sentences.map((sentence) => <li key={sentence.id}><button type="button" onClick={() => onSentence(sentence)}>{links.pages.length > 1 && <span className="tag">{m.page(sentence.page)}</span>}<q>{sentence.text}</q></button></li>)}</ul>;
}
