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
    stale("/definitions", "/processes/definitions");
    return { name: made.id, version: made.version };
  }
  const made = await call<Submitted>("/definitions", { method: "POST", body: { document: text, change_summary: about.trim() || null }, key });
  stale("/definitions");
  return { name: made.version.name, version: made.version.version };
}

export interface Judged {
  /** It was mined or read from a text: approved as a model, it may be begun from then on. */
  model: boolean;
  comment: string;
  /** It becomes the next version of this definition besides. */
  into: string | null;
}

export async function decide(name: string, version: number, deed: Deed, { model, comment, into }: Judged, key: string): Promise<void> {
  const at = `/processes/definitions/${encodeURIComponent(name)}:${deed}`;
  if (model && deed === "approve") await post(at, { comment: comment || null, into }, key);
  else if (model && deed === "reject") await post(at, { comment }, key);
  else await post(`${definitionPath(name, version)}/${deed}`, deed === "reject" ? { feedback: comment } : {}, key);
  stale("/definitions", "/processes/definitions");
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
export const propose = (text: string, id: string | null): Promise<Extracted> => post<Extracted>("/processes/definitions:extract", { text, id: id ?? "", dry_run: true }, newKey());
