/** The words of drafts beside those of all: they come with their screens, so that the first view stays small. */
import { useWords, type Words } from "../../words";
import { en } from "../../words/en";
import { ko, type Dictionary } from "../../words/ko";
import { draftEn } from "./words.en";
import { draftKo, type DraftWords } from "./words.ko";

export type DraftDictionary = Dictionary & DraftWords;
export type Says = DraftWords["draft"];

const KO: DraftDictionary = { ...ko, ...draftKo };
const EN: DraftDictionary = { ...en, ...draftEn };

export function useDraftWords(): Omit<Words, "t"> & { t: DraftDictionary; d: Says } {
  const words = useWords();
  const t = words.locale === "ko" ? KO : EN;
  return { ...words, t, d: t.draft };
}
