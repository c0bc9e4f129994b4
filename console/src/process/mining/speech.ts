/** The words of mining beside those of all: they come with its screens, so that the first view stays small. */
import { useWords, type Words } from "../../words";
import { en } from "../../words/en";
import type { Format } from "../../words/format";
import { ko, type Dictionary } from "../../words/ko";
import type { ActivityStats, MiningMap, ModelChange, DeviationLike } from "./types";
import { agentShare } from "./map/scale";
import { miningEn } from "./words.en";
import { miningKo, type MiningWords } from "./words.ko";

export type MiningDictionary = Dictionary & MiningWords;
export type Says = MiningWords["mining"];

const KO: MiningDictionary = { ...ko, ...miningKo };
const EN: MiningDictionary = { ...en, ...miningEn };

export type MiningSpeech = Omit<Words, "t"> & { t: MiningDictionary; m: Says };

export function useMiningWords(): MiningSpeech {
  const words = useWords();
  const t = words.locale === "ko" ? KO : EN;
  return { ...words, t, m: t.mining };
}

/** 92.4; what is not all is never 100. */
export const percentNumber = (share: number, f: Format): string => f.number(share < 1 ? Math.min(99.9, Math.round(share * 1000) / 10) : 100);

/** 92.4 % */
export const percentOf = (share: number, f: Format): string => `${percentNumber(share, f)} %`;

/** 0.91 */
export const ratioOf = (value: number): string => value.toFixed(2);

export function deviationTitle({ kind, activity, before }: DeviationLike, m: Says): string {
  return kind === "order" ? m.deviation.order(activity, before) : m.deviation[kind](activity);
}

export function whoText(activity: ActivityStats, m: Says, f: Format): string {
  const share = agentShare(activity);
  if (share === null) return m.who.unknown;
  return share === 0 ? m.who.human : share === 1 ? m.who.agent : m.who.both(percentOf(share, f));
}

/** 8월 18일~11월 15일 (90일) */
export function periodText({ period: { from, to } }: Pick<MiningMap, "period">, m: Says, f: Format): string {
  if (!from || !to) return m.always;
  const days = Math.max(1, Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000));
  return `${f.days(from, to)} (${m.days(days)})`;
}

/** What a change is called, and what it says: by its shape, else in the server's words. */
export function changeText({ shape, activities, title, detail, cases }: ModelChange, m: Says): { title: string; detail: string } {
  const word = shape === "step_removed" && cases > 0 ? undefined : m.diff.change[shape];
  const [named = title, said = detail] = word?.(activities) ?? [];
  return { title: named, detail: said };
}
