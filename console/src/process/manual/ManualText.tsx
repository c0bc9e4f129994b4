/** The text of the manual by pages and sentences; one that an element came from can be selected. */
import { useEffect, useMemo, useRef, type ReactNode } from "react";
import { Empty } from "../../components";
import type { Links, Selection } from "./links";
import { useManualWords } from "./speech";
import { isDoubtful, type Sentence } from "./types";

interface Props {
  /** The whole text, in Markdown. */
  text: string;
  links: Links;
  selection: Selection;
  lit: Set<string>;
  onPick: (sentence: Sentence | null) => void;
}

export function ManualText({ text, links, selection, lit, onPick }: Props): ReactNode {
  const { f, m } = useManualWords();
  const paper = useRef<HTMLDivElement>(null);
  const paragraphs = useMemo(() => links.pages.map(({ page, sentences }) => ({ page, paragraphs: paragraphsOf(sentences) })), [links]);
  const first = selection.element ? selection.element.sentences[0] : selection.sentence?.id;
  useEffect(() => {
    if (first !== undefined) paper.current?.querySelector(`[data-sentence="${CSS.escape(first)}"]`)?.scrollIntoView({ block: selection.element ? "center" : "nearest" });
  }, [first, selection.element]);
  if (links.sentences.size === 0) return <Empty title={m.nothing} />;
  return (
    <div className="manual-text" ref={paper} tabIndex={0} aria-label={m.text} role="region">
      {paragraphs.map(({ page, paragraphs: own }, i) => (
        <section key={i} className="manual-page" aria-label={paragraphs.length > 1 ? m.page(page) : m.text}>
          {paragraphs.length > 1 && <h2 className="manual-page-no">{m.page(page)}</h2>}
          {own.map((sentences) => {
            const mark = markOf(text, sentences[0]);
            return (
              <div key={sentences[0]?.id} className={`manual-paragraph ${mark.startsWith("#") ? "manual-heading" : mark.startsWith("|") ? "manual-row" : ""}`}>
                {sentences.map((sentence, nth) => {
                  const chunk = links.chunks.get(sentence.id);
                  return (
                    <div key={sentence.id}>
                      {chunk && links.chunks.size > 1 && <p className="manual-chunk">{m.chunk(chunk.number, f.number(chunk.tokens))}</p>}
                      <Line sentence={sentence} mark={/^[#|]/.test(mark) ? "" : nth === 0 ? mark : mark && " "} links={links} lit={lit.has(sentence.id)} selected={selection.sentence?.id === sentence.id} onPick={onPick} />
                    </div>
                  );
                })}
              </div>
            );
          })}
        </section>
      ))}
    </div>
  );
}

function paragraphsOf(sentences: Sentence[]): Sentence[][] {
  const paragraphs: Sentence[][] = [];
  for (const sentence of sentences) {
    const last = paragraphs.at(-1);
    if (last?.[0]?.paragraph === sentence.paragraph) last.push(sentence);
    else paragraphs.push([sentence]);
  }
  return paragraphs;
}

/** What stands before a sentence in its line: the number of a step, the sign of a heading or of a row. */
function markOf(text: string, sentence: Sentence | undefined): string {
  if (!sentence) return "";
  return text.slice(text.lastIndexOf("\n", sentence.start - 1) + 1, sentence.start).trim();
}

const tongueOf = (text: string): string => (/[가-힣]/.test(text) ? "ko" : "en");

interface LineProps {
  sentence: Sentence;
  mark: string;
  links: Links;
  lit: boolean;
  selected: boolean;
  onPick: (sentence: Sentence | null) => void;
}

function Line({ sentence, mark, links, lit, selected, onPick }: LineProps): ReactNode {
  const { m } = useManualWords();
  const elements = links.from.get(sentence.id) ?? [];
  const words = <>{mark && <span className="manual-mark">{mark}</span>}<span className="grow" lang={tongueOf(sentence.text)}>{sentence.text}</span></>;
  if (elements.length === 0) return <p className={`manual-line manual-unread ${lit ? "manual-lit" : ""}`} data-sentence={sentence.id}>{words}</p>;
  const doubt = elements.some(isDoubtful);
  return (
    <button type="button" className={`manual-line ${lit ? "manual-lit" : ""}`} data-sentence={sentence.id} aria-pressed={selected} onClick={() => onPick(selected ? null : sentence)}>
      {words}
      <span className={`manual-count ${doubt ? "tone-held" : ""}`} title={m.from(elements.length)}><span aria-hidden>{elements.length}</span><span className="sr">{m.from(elements.length)}{doubt && `, ${m.doubtWord}`}</span></span>
    </button>
  );
}
