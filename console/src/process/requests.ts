/** The addresses of processes in the API, and the requests that only processes have. */
import { stale } from "../api/cache";
import { call, newKey, post } from "../api/client";
import type { DefinitionSaved, Extracted, Json } from "../api/types";
import type { Addresses, Review, StartOptions } from "../languages/contract";
import type { Dictionary } from "../words/ko";

export const processPath = (id: string, version?: number): string => `/processes/definitions/${encodeURIComponent(id)}${version === undefined ? "" : `?version=${version}`}`;
export const bpmnPath = (id: string, version: number): string => `${processPath(id)}/bpmn?version=${version}`;
export const eventLogPath = (id: string, format: "xes" | "json"): string => `${processPath(id)}/event-log?format=${format}`;
export const instancePath = (id: string): string => `/processes/instances/${encodeURIComponent(id)}`;
export const workItemPath = (id: string): string => `/processes/workitems/${encodeURIComponent(id)}`;

export const ADDRESSES: Addresses = {
  run: (id) => [`/processes/instances/${id}`, `/processes/workitems/${encodeURIComponent(id)}`],
  lists: ["/processes/workitems?"],
  definitions: ["/processes/definitions"],
};

/** A version that waits for approval: to submit is never to activate. */
export async function submit(text: string, from: string | null, unsound: boolean, key: string): Promise<{ name: string; version: number }> {
  const [path, method] = from === null ? ["/processes/definitions", "POST"] : [processPath(from), "PUT"];
  const saved = await call<DefinitionSaved>(path, { method, body: { document: text, unsound, pending: true }, key });
  return { name: saved.id, version: saved.version };
}

/** `modes`: by activity, who does it in this run. */
export async function startInstance(id: string, version: number, input: Json, modes: StartOptions, key: string): Promise<string> {
  const instance = await post<{ proc_inst_id: string }>(`${processPath(id)}/instances`, { input_data: input ?? {}, mode_overrides: modes, version }, key);
  return instance.proc_inst_id;
}

/** Decides about the version of a model that was seen, mined or read from a text; approved, it also becomes a version of `into`. */
export async function reviewModel(id: string, version: number, verb: "approve" | "reject", comment: string, into: string | null, key: string): Promise<void> {
  await post(`${processPath(id)}:${verb}`, verb === "approve" ? { comment: comment || null, into, version } : { comment }, key);
  stale("/definitions", ...ADDRESSES.definitions);
}

/** How the version of such a model is decided about; `base` is what it would change. */
export const modelReview = (id: string, version: number, base: string | null, t: Dictionary): Review => ({
  permission: "process.model.approve", effect: t.definitions.effectModel, into: base,
  send: (verb, comment, into, key) => reviewModel(id, version, verb, comment, into ? base : null, key),
});

/** Drafts a definition from plain words; nothing is saved before somebody accepts it. */
export const extract = (text: string, id: string | null): Promise<Extracted> => post<Extracted>("/processes/definitions:extract", { text, id: id ?? "", dry_run: true }, newKey());
