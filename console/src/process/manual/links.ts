/** Which sentence leads to which elements and back, and the pages of a manual. */
import { keyOf, type Chunk, type ManualRead, type ReadElement, type Sentence } from "./types";

export interface Links {
  sentences: Map<string, Sentence>;
  elements: Map<string, ReadElement>;
  /** By sentence, the elements that came from it. */
  from: Map<string, ReadElement[]>;
  /** By its first sentence. */
  chunks: Map<string, Chunk>;
  /** One where the manual has no pages. */
  pages: { page: number; sentences: Sentence[] }[];
}

export function linksOf(read: ManualRead): Links {
  const from = new Map<string, ReadElement[]>();
  for (const element of read.elements) for (const id of element.sentences) from.set(id, [...(from.get(id) ?? []), element]);
  const pages: Links["pages"] = [];
  for (const sentence of read.sentences) {
    const page = pages.at(-1);
    if (page && page.page === sentence.page) page.sentences.push(sentence);
    else pages.push({ page: sentence.page, sentences: [sentence] });
  }
  return {
    sentences: new Map(read.sentences.map((sentence) => [sentence.id, sentence])), elements: new Map(read.elements.map((element) => [keyOf(element), element])),
    from, chunks: new Map(read.chunks.map((chunk) => [chunk.first, chunk])), pages,
  };
}

/** What is selected: an element by its key, or a sentence. */
export interface Selection {
  element: ReadElement | null;
  sentence: Sentence | null;
}

/** The elements that are lit. */
export function litElements({ element, sentence }: Selection, links: Links): Set<string> {
  return new Set(element ? [keyOf(element)] : sentence ? (links.from.get(sentence.id) ?? []).map(keyOf) : []);
}

/** The sentences that are lit. */
export function litSentences({ element, sentence }: Selection): Set<string> {
  return new Set(element ? element.sentences : sentence ? [sentence.id] : []);
}

/** The one after, or before, in a list that goes on at its other end. */
export function neighbour<T>(list: readonly T[], at: number, by: 1 | -1): T | undefined {
  if (list.length === 0) return undefined;
  return list[at < 0 ? (by > 0 ? 0 : list.length - 1) : (at + by + list.length) % list.length];
}
