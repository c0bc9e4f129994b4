/** The locale, the time zone and the server's words for statuses and types, for every screen. */
import { createContext, useCallback, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import { forgetAll, useGet } from "../api/cache";
import type { Me } from "../api/types";
import { Format, type Locale } from "./format";
import { en } from "./en";
import { ko, type Dictionary } from "./ko";

type WordMap = { run?: Record<string, string>; node?: Record<string, string>; types?: Record<string, { label: string; icon?: string }> };
/** By language; a server that sends one map for all is understood too. */
type Maps = WordMap & { languages?: Record<string, WordMap> } & Record<string, unknown>;

export interface Words {
  locale: Locale;
  t: Dictionary;
  f: Format;
  setLocale: (locale: Locale) => void;
  /**
   * The word of a run's status, the same in every list, on every page and tile: while it is open the house's, since a
   * language may say of a run that waits that it runs; once it has ended the language's own.
   */
  runWord: (run: { language: string; status: string; state: string }) => string;
  stateWord: (state: string) => string;
  /** The language's word of a node's status; one that waits is never said to run. */
  nodeWord: (language: string, status: string, state: string) => string;
  typeWord: (language: string, type: string) => string;
  /** The word of the first language that knows the type. */
  typeWordOfAny: (type: string) => string;
  /** The languages that the server runs. */
  languages: string[];
}

/** The states of runs that have not ended. */
const OPEN = new Set(["PENDING", "RUNNING", "WAITING", "COMPENSATING"]);

const Context = createContext<Words | null>(null);

export function useWords(): Words {
  const words = useContext(Context);
  if (!words) throw new Error("words are asked for outside of their provider");
  return words;
}

export function firstLocale(): Locale {
  return document.documentElement.lang === "en" ? "en" : "ko";
}

export function WordsProvider({ me, children }: { me: Me | null; children: ReactNode }): ReactNode {
  const [locale, setState] = useState<Locale>(firstLocale);
  const setLocale = useCallback((next: Locale) => {
    document.documentElement.lang = next; // what is asked from now on is answered in it
    setState(next);
    forgetAll();
  }, []);
  const { data } = useGet<Maps>(me ? `/words?locale=${locale}` : null);
  useEffect(() => {
    document.documentElement.lang = locale;
    keep("ps.locale", locale);
  }, [locale]);
  const words = useMemo<Words>(() => {
    const t = locale === "ko" ? ko : en;
    const of = (language: string): WordMap => data?.languages?.[language] ?? ((data?.[language] as WordMap | undefined) ?? data ?? {});
    return {
      locale, t, setLocale,
      f: new Format(locale, me?.zone ?? "Asia/Seoul", t),
      runWord: ({ language, status, state }) => cap((OPEN.has(state) ? undefined : of(language).run?.[status]) ?? t.state[state] ?? status),
      stateWord: (state) => t.state[state] ?? state,
      nodeWord: (language, status, state) => cap((state === "WAITING" ? t.state[state] : of(language).node?.[status]) ?? of(language).node?.[state] ?? t.state[state] ?? t.state[status.toUpperCase()] ?? status),
      typeWord: (language, type) => of(language).types?.[type]?.label ?? type.toLowerCase(),
      typeWordOfAny: (type) => Object.values(data?.languages ?? {}).map((map) => map.types?.[type]?.label).find((label) => label !== undefined) ?? type.toLowerCase(),
      languages: Object.keys(data?.languages ?? {}),
    };
  }, [locale, setLocale, data, me?.zone]);
  return <Context.Provider value={words}>{children}</Context.Provider>;
}

const cap = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

export function keep(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // a browser that keeps nothing asks again next time
  }
}

/** The current time, updated every `every` ms while the page is visible. */
export function useNow(every = 1000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = window.setInterval(() => !document.hidden && setNow(Date.now()), every);
    return () => window.clearInterval(timer);
  }, [every]);
  return now;
}
