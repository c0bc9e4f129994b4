/** The words of the test bench beside those of all: they come with its screens, so that the first view stays small. */
import { useWords, type Words } from "../words";
import { en } from "../words/en";
import { ko, type Dictionary } from "../words/ko";
import { rulesEn } from "../words/rules.en";
import { rulesKo, type RulesWords } from "../words/rules.ko";

export type RulesDictionary = Dictionary & { rules: RulesWords };

const KO: RulesDictionary = { ...ko, rules: rulesKo };
const EN: RulesDictionary = { ...en, rules: rulesEn };

export function useRulesWords(): Omit<Words, "t"> & { t: RulesDictionary } {
  const words = useWords();
  return { ...words, t: words.locale === "ko" ? KO : EN };
}
