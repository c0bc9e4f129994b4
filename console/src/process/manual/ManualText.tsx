/** The text of the manual by pages and sentences; one that an element came from can be selected. */
import { useEffect, useRef, type ReactNode } from "react";
import { Empty } from "../../components";
import type { Links, Selection } from "./links";
import { useManualWords } from "./speech";
import { isDoubtful, type Sentence } from "./types";

interface Props {
  links: Links;
  selection: Selection;
  lit: Set<string>;
  onPick: (sentence: Sentence | null) => void;
}

export function ManualText({ links, selection, lit, onPick }: Props): ReactNode {
  const { f, m } = useManualWords();
  const paper = useRef<HTMLDivElement>(null);
  const first = selection.element ? selection.element.sentences[0] : selection.sentence?.id;
  useEffect(() => {
    if (first !== undefined) paper.current?.querySelector(`[data-sentence="${CSS.escape(first)}"]`)?.scrollIntoView({ block: selection.element ? "center" : "nearest" });
  }, [first, selection.element]);
  if (links.sentences.size === 0) return <Empty title={m.nothing} />;
  return (
    <div className="manual-text" ref={paper} tabIndex={0} aria-label={m.manual} role="region">
      {links.pages.map(({ page, sentences }, i) => (
        <section key={i} className="manual-page" aria-label={page === null ? m.text : m.page(page)}>
          {page !== null && <h2 className="manual-page-no">{m.page(page)}</h2>}
          {sentences.map((sentence) => {
            const chunk = links.chunks.get(sentence.id);
            return (
              <div key={sentence.id}>
                {chunk && links.chunks.size > 1 && <p className="manual-chunk">{m.chunk(chunk.number, f.number(chunk.tokens))}</p>}
                <Line sentence={sentence} links={links} lit={lit.has(sentence.id)} selected={selection.sentence?.id === sentence.id} onPick={onPick} />
              </div>
            );
          })}
        </section>
      ))}
    </div>
  );
}

const tongueOf = (text: string): string => (/[가-힣]/.test(text) ? "ko" : "en");

function Line({ sentence, links, lit, selected, onPick }: { sentence: Sentence; links: Links; lit: boolean; selected: boolean; onPick: (sentence: Sentence | null) => void }): ReactNode {
  const { m } = useManualWords();
  const elements = links.from.get(sentence.id) ?? [];
  if (elements.length === 0) return <p className={`manual-line manual-unread ${lit ? "manual-lit" : ""}`} data-sentence={sentence.id} lang={tongueOf(sentence.text)}>{sentence.text}</p>;
  const doubt = elements.some(isDoubtful);
  return (
    <button type="button" className={`manual-line ${lit ? "manual-lit" : ""}`} data-sentence={sentence.id} aria-pressed={selected} onClick={() => onPick(selected ? null : sentence)}>
      <span lang={tongueOf(sentence.text)}>{sentence.text}</span>
      <span className={`manual-count ${doubt ? "tone-held" : ""}`} title={m.from(elements.length)}><span aria-hidden>{elements.length}</span><span className="sr">{m.from(elements.length)}{doubt && `, ${m.doubtWord}`}</span></span>
    </button>
  );
}
