/** What was read out of a manual: its sentences, the elements with the sentences they came from, and what was not believed. */
import type { Extracted } from "../../api/types";

export interface Sentence {
  id: string;
  /** Null where the manual has no pages. */
  page: number | null;
  text: string;
}

/** A part of the manual that was read at once; `first` and `last` are sentences. */
export interface Chunk {
  number: number;
  tokens: number;
  first: string;
  last: string;
}

export interface ReadElement {
  collection: string;
  id: string;
  name: string;
  /** From 0 to 1. */
  confidence: number;
  sentences: string[];
}

/** What somebody claimed to be in the manual, and is not. */
export interface Dropped {
  kind: string;
  name: string;
  quote: string;
  why: string;
}

export type ManualRead = Extracted & {
  bpmn: string;
  /** Its decision tables, as DMN; empty when it has none. */
  dmn: string;
  sentences: Sentence[];
  chunks: Chunk[];
  elements: ReadElement[];
  dropped: Dropped[];
};

/** What is read: a file, or a text that was typed. */
export type Manual = { name: string; content_base64: string } | { text: string };

/** P-6.1.6: with this confidence nobody has to look before it may be begun. */
export const ENOUGH = 0.8;
export const isDoubtful = ({ confidence }: ReadElement): boolean => confidence < ENOUGH;
/** Elements of different collections may have the same id. */
export const keyOf = ({ collection, id }: ReadElement): string => `${collection}.${id}`;
export const percent = (share: number): number => Math.floor(share * 100 + 1e-9);
