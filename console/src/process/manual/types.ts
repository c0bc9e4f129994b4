/** What was read out of a manual: its sentences, the elements with the sentences they came from, and what was not believed. */
import type { Extracted, ExtractedElement, Extraction } from "../../api/types";

export type { DroppedClaim as Dropped, ExtractedElement as ReadElement, ManualChunk as Chunk, ManualSentence as Sentence } from "../../api/types";

/** What was just read, or what was read when a version was saved. */
export type ManualRead = Extracted | Extraction;

/** What is read: a file, or a text that was typed. */
export type Manual = { name: string; content_base64: string } | { text: string };

/** P-6.1.6: with this confidence nobody has to look before it may be begun. */
export const ENOUGH = 0.8;
export const isDoubtful = ({ confidence }: ExtractedElement): boolean => confidence < ENOUGH;
/** Elements of different collections may have the same id. */
export const keyOf = ({ collection, id }: ExtractedElement): string => `${collection}.${id}`;
export const percent = (share: number): number => Math.floor(share * 100 + 1e-9);
