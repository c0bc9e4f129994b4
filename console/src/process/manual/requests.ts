/** What is asked of the API about manuals. */
import { stale } from "../../api/cache";
import { call, newKey } from "../../api/client";
import { processPath, ADDRESSES } from "../requests";
import { importFile, removeDraft } from "../draft/requests";
import type { Draft } from "../draft/types";
import type { Extracted } from "../../api/types";
import type { Manual } from "./types";

export const MANUALS_PAGE = "/manuals";
/** The manual that was just read and is not saved. */
export const NEW_MANUAL = `${MANUALS_PAGE}/new`;
export const manualPage = (id: string, version: number): string => `${MANUALS_PAGE}/${encodeURIComponent(id)}/v/${version}`;
export const extractionPath = (id: string, version: number): string => `${processPath(id)}/extraction?version=${version}`;

const EXTRACT = "/processes/definitions:extract";
const bodyOf = (manual: Manual): object => ("text" in manual ? { text: manual.text } : { document: manual });

/** Nothing is stored by it. */
export const read = (manual: Manual, signal: AbortSignal): Promise<Extracted> => call<Extracted>(EXTRACT, { method: "POST", body: { ...bodyOf(manual), dry_run: true }, key: newKey(), signal });

/** The same reading as a version of a definition. */
export async function save(manual: Manual, id: string, key: string): Promise<Extracted> {
  const saved = await call<Extracted>(EXTRACT, { method: "POST", body: { ...bodyOf(manual), id }, key });
  stale("/definitions", ...ADDRESSES.definitions);
  return saved;
}

/** The drawing as a file that somebody brought: what is missing in it is finished in the room of drafts. */
export const openAsDraft = (name: string, bpmn: string, key: string): Promise<Draft> => importFile(`${name}.bpmn`, bpmn, key);
export { removeDraft };
