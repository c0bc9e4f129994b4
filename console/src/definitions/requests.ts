/** Requests about definitions: submitting a text, approving, activating, starting a run. */
import { stale } from "../api/cache";
import { call, post } from "../api/client";
import type { Json, Submitted } from "../api/types";
import { ADDRESSES_OF_DEFINITIONS, languageOf } from "../languages";
import type { StartOptions } from "../languages/contract";

export type ReleaseVerb = "approve" | "reject" | "activate" | "deprecate";

export const definitionPath = (name: string, version?: number): string =>
  `/definitions/${encodeURIComponent(name)}${version === undefined ? "" : `/versions/${version}`}`;

interface Submission {
  text: string;
  language: string;
  /** The definition that gets a new version; null makes a new one. */
  from: string | null;
  summary: string;
  /** The author accepts that a run may never end. */
  unsound: boolean;
}

/** Submits a text as a new version; returns its name and number. Unless its language says otherwise, it waits for approval. */
export async function submitDefinition({ text, language, from, summary, unsound }: Submission, key: string): Promise<{ name: string; version: number }> {
  const submit = languageOf(language).document?.submit ?? ((document: string) => submitForApproval(document, summary, key));
  const made = await submit(text, from, unsound, key);
  stale(...ADDRESSES_OF_DEFINITIONS);
  return made;
}

async function submitForApproval(document: string, summary: string, key: string): Promise<{ name: string; version: number }> {
  const { version } = await call<Submitted>("/definitions", { method: "POST", body: { document, change_summary: summary.trim() || null }, key });
  return { name: version.name, version: version.version };
}

export async function decideDefinition(name: string, version: number, verb: ReleaseVerb, feedback: string, key: string): Promise<void> {
  await post(`${definitionPath(name, version)}/${verb}`, verb === "reject" ? { feedback } : {}, key);
  stale(...ADDRESSES_OF_DEFINITIONS);
}

/** Starts a run and returns its id. */
export async function startRun(name: string, language: string, version: number, input: Json, options: StartOptions, key: string): Promise<string> {
  const start = languageOf(language).document?.start;
  if (start) return start.send(name, version, input, options, key);
  return (await post<{ id: string }>("/runs", { definition: name, version, input }, key)).id;
}
