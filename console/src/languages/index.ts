/** The languages that the console has screens for, one line each. Shared screens ask here and compare no names. */
import { useEffect, useState } from "react";
import type { Dict, Item } from "../api/types";
import { decision } from "../decision";
import { diagram } from "../diagram";
import { pipeline } from "../pipeline";
import { plan } from "../plan";
import { process } from "../process";
import type { DefinitionDetails, DefinitionParts, ItemParts, Language, Room, RunParts, RunTabs } from "./contract";

/** In the order in which lists show them. */
export const LANGUAGES: readonly Language[] = [
  process,
  decision,
  diagram,
  plan,
  pipeline,
];

/** The screens that languages bring, in the order of the languages. */
export const ROOMS: readonly Room[] = LANGUAGES.flatMap((language) => language.rooms ?? []);
export const roomOf = (path: string | undefined): Room | undefined => ROOMS.find((room) => room.path === path);

type Parts = Omit<Language, "name" | "icon"> & Partial<Pick<Language, "icon">>;

const BY_NAME = new Map(LANGUAGES.map((language) => [language.name, language]));
const GENERAL: Parts = {};
const NO_TABS: RunTabs = { tabs: [], first: null };
const NO_DETAILS: DefinitionDetails = { ready: true, tabs: [], tools: null, contents: null, base: null, review: null };
const GENERAL_RUN: RunParts = { useTabs: () => NO_TABS };
const GENERAL_DEFINITION: DefinitionParts = { useDetails: () => NO_DETAILS };

/** What a language brings; one that the console does not know brings nothing. */
export const languageOf = (name: string | null | undefined): Parts => BY_NAME.get(name ?? "") ?? GENERAL;

/** What its language brings for an item with a lifecycle of its own. */
export const itemPartsOf = (item: { language?: string; work?: Item["work"] }): ItemParts | undefined => (item.work ? languageOf(item.language).items : undefined);

/** The order of languages in lists: as above, then by name. */
export function byLanguage(a: string, b: string): number {
  const place = (name: string) => { const at = LANGUAGES.findIndex((language) => language.name === name); return at < 0 ? LANGUAGES.length : at; };
  return place(a) - place(b) || a.localeCompare(b);
}

/** The language of a document that the server has not read yet; "" when nobody recognises it. */
export const recognise = (document: Dict): string => LANGUAGES.find((language) => language.document?.recognises?.(document))?.name ?? "";

/** The title that a document gives itself. */
export function titleOf(version: { name: string; document: Dict }): string {
  const own = LANGUAGES.map((language) => language.document?.title?.(version.document)).find((title) => title !== undefined);
  return own ?? String(version.document["name"] ?? version.name);
}

/** Addresses of languages whose answers are old when a run has moved. */
export const addressesOfRun = (id: string): string[] => LANGUAGES.flatMap((language) => language.addresses?.run(id) ?? []);
/** Lists of languages whose answers are old when any run has moved. */
export const ADDRESSES_OF_LISTS: string[] = LANGUAGES.flatMap((language) => language.addresses?.lists ?? []);
/** Addresses whose answers are old when a definition has changed. */
export const ADDRESSES_OF_DEFINITIONS: string[] = ["/definitions", ...LANGUAGES.flatMap((language) => language.addresses?.definitions ?? [])];

export const useRunParts = (language: string | undefined): RunParts | null => useLoaded(language === undefined ? undefined : languageOf(language).run, GENERAL_RUN);
export const useDefinitionParts = (language: string): DefinitionParts | null => useLoaded(languageOf(language).definition, GENERAL_DEFINITION);

const loaded = new Map<() => Promise<unknown>, unknown>();

/** Null while it is loaded. */
function useLoaded<T>(load: (() => Promise<T>) | undefined, general: T): T | null {
  const [, setDone] = useState<unknown>(null);
  const [failed, setFailed] = useState<Error | null>(null);
  useEffect(() => {
    if (!load || loaded.has(load)) return;
    let gone = false;
    load().then((parts) => { loaded.set(load, parts); if (!gone) setDone(parts); }, (error: unknown) => { if (!gone) setFailed(error instanceof Error ? error : new Error(String(error))); });
    return () => { gone = true; };
  }, [load]);
  if (failed) throw failed; // the frame says that the screen has a problem
  return load ? ((loaded.get(load) as T | undefined) ?? null) : general;
}
