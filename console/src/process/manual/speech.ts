/** The words of manuals beside those of all: they come with their screens, so that the first view stays small. */
import { useWords, type Words } from "../../words";
import { manualEn } from "./words.en";
import { manualKo, type ManualWords } from "./words.ko";

export function useManualWords(): Words & { m: ManualWords } {
  const words = useWords();
  return { ...words, m: words.locale === "ko" ? manualKo : manualEn };
}
