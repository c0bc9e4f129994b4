/** What people do with definitions: hand one in, agree, send it back, put it in force, start it. */
import { call, newKey, post } from "../api/client";
import { stale } from "../api/cache";
import type { DefinitionSaved, Extracted, Json, Submitted } from "../api/types";

export type Deed = "approve" | "reject" | "activate" | "deprecate";

export const definitionPath = (name: string, version?: number): string =>
  `/definitions/${encodeURIComponent(name)}${version === undefined ? "" : `/versions/${version}`}`;

/** Hands a text in as a new version; its name and number come back. A process is in force at once, others wait for approval. */
export async function handIn(text: string, language: string, from: string | null, about: string, unsound: boolean, key: string): Promise<{ name: string; version: number }> {
  if (language === "process") {
    const made = from === null ? await call<DefinitionSaved>("/processes/definitions", { method: "POST", body: { document: text, unsound }, key })
      : await call<DefinitionSaved>(`/processes/definitions/${encodeURIComponent(from)}`, { method: "PUT", body: { document: text, unsound }, key });
    stale("/definitions");
    return { name: made.id, version: made.version };
  }
  const made = await call<Submitted>("/definitions", { method: "POST", body: { document: text, change_summary: about.trim() || null }, key });
  stale("/definitions");
  return { name: made.version.name, version: made.version.version };
}

/** A model of a process that was mined or read from a text is approved as one: it may be begun from then on. */
export async function decide(name: string, version: number, language: string, deed: Deed, feedback: string, key: string): Promise<void> {
  const model = language === "process" && (deed === "approve" || deed === "reject");
  if (model) await post(`/processes/definitions/${encodeURIComponent(name)}:${deed}`, deed === "reject" ? { comment: feedback } : {}, key);
  else await post(`${definitionPath(name, version)}/${deed}`, deed === "reject" ? { feedback } : {}, key);
  stale("/definitions");
}

/** Starts it; the run's id. */
export async function start(name: string, language: string, version: number, input: Json, modes: Record<string, string>, key: string): Promise<string> {
  if (language === "process") {
    const made = await post<{ proc_inst_id: string }>(`/processes/definitions/${encodeURIComponent(name)}/instances`, { input_data: input ?? {}, mode_overrides: modes, version }, key);
    return made.proc_inst_id;
  }
  return (await post<{ id: string }>("/runs", { definition: name, version, input }, key)).id;
}

/** A definition out of plain words; nothing is kept before somebody accepts it. */
export const propose = (text: string): Promise<Extracted> => post<Extracted>("/processes/definitions:extract", { text, dry_run: true }, newKey());
