/** The real history as tokens that go along it: variants in the order and the mixture in which they happened. */
import { useEffect, useMemo, useState } from "react";
import type { Variant } from "./types";

/** So long one step takes, as every token of the console does. */
export const STEP_MS = 640;
/** So many cases stand for all of them, and so many are under way at once. */
const CASES = 40;
const AT_ONCE = 12;

export interface ReplayToken {
  key: number;
  variant: Variant;
  /** The step that it takes now: 0 leads from the beginning to the first activity. */
  step: number;
}

/** Which variant goes next: each comes as often as it has happened. */
export function mixtureOf(variants: Variant[], cases: number = CASES): Variant[] {
  const all = variants.reduce((sum, variant) => sum + variant.cases, 0);
  const owed = variants.map((variant) => ({ variant, due: 0 }));
  return Array.from({ length: all > 0 ? Math.max(cases, variants.length) : 0 }, () => {
    for (const entry of owed) entry.due += entry.variant.cases / all;
    const next = owed.reduce((most, entry) => (entry.due > most.due ? entry : most));
    next.due -= 1;
    return next.variant;
  });
}

export const isStill = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Tokens under way; with reduced motion one at a time, and it appears where it is. */
export function useReplay(variants: Variant[], playing: boolean, onEnd: () => void): ReplayToken[] {
  const mixture = useMemo(() => mixtureOf(variants), [variants]);
  const [tick, setTick] = useState(0);
  useEffect(() => {
    if (!playing) return;
    setTick(0);
    const timer = window.setInterval(() => !document.hidden && setTick((before) => before + 1), STEP_MS);
    return () => window.clearInterval(timer);
  }, [playing, mixture]);
  const tokens = useMemo(() => (playing ? tokensAt(mixture, tick, isStill()) : []), [mixture, tick, playing]);
  useEffect(() => { if (playing && tick > 0 && tokens.length === 0) onEnd(); }, [playing, tick, tokens]);
  return tokens;
}

export function tokensAt(mixture: Variant[], tick: number, still: boolean): ReplayToken[] {
  const tokens: ReplayToken[] = [];
  let begins = 0;
  for (const [key, variant] of mixture.entries()) {
    const steps = variant.activities.length + 1;
    const step = tick - begins;
    if (step < 0) break;
    if (step < steps) tokens.push({ key, variant, step });
    begins += still ? steps : 1;
  }
  return tokens.slice(-AT_ONCE);
}
