/** The addresses of process mining in the API, and what is asked of it. */
import { stale } from "../../api/cache";
import { BASE, newKey, post, query } from "../../api/client";
import type { Batch, BatchFilter, BatchProgress } from "../../api/types";
import { ADDRESSES, eventLogPath, processPath } from "../requests";
import type { MiningLog, ModelDiff } from "./types";

export const MINING = "/processes/mining";
export const MINING_PAGE = "/mining";
export const LOGS = `${MINING}/logs`;
export const linesPath = `${MINING}?limit=200`;

export interface Looked {
  from: string | null;
  to: string | null;
  /** An imported log, instead of the runs. */
  log: string | null;
}

export const mapPath = (id: string, { from, to, log }: Looked): string => `${MINING}/${encodeURIComponent(id)}${query({ from, to, log })}`;
export const diffPath = (id: string, model: string): string => `${MINING}/${encodeURIComponent(id)}/diff/${encodeURIComponent(model)}`;
export const xesAddress = (id: string): string => BASE + eventLogPath(id, "xes");

/** The largest file that is sent: more goes in by the command. */
export const MOST_BYTES = 32 * 1024 * 1024;

/** `process`: whose cases they are. */
export async function importLog(file: File, process: string | null): Promise<MiningLog> {
  const log = await post<MiningLog>(LOGS, { name: file.name, process, content_base64: await base64Of(file) }, newKey());
  stale(MINING);
  return log;
}

export async function discover(id: string, log: string | null): Promise<{ model_id: string; version: number; changes: number }> {
  const found = await post<{ model_id: string; version: number; changes: number }>(`${MINING}/${encodeURIComponent(id)}:discover`, log ? { log } : {}, newKey());
  stale(MINING);
  return found;
}

async function base64Of(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  const part = 0x8000;
  for (let at = 0; at < bytes.length; at += part) text += String.fromCharCode(...bytes.subarray(at, at + part));
  return btoa(text);
}

export interface Approved {
  id: string;
  version: number;
}

/** Approves the version that was looked at; it becomes the next version of the process. */
export async function approveModel({ id, model_id, model_version }: ModelDiff, comment: string, key: string): Promise<Approved> {
  const approved = await post<Approved>(`${processPath(model_id)}:approve`, { comment: comment || null, into: id, version: model_version }, key);
  stale(MINING, "/definitions", ...ADDRESSES.definitions);
  return approved;
}

export async function rejectModel({ model_id }: ModelDiff, comment: string, key: string): Promise<void> {
  await post(`${processPath(model_id)}:reject`, { comment }, key);
  stale(MINING, "/definitions", ...ADDRESSES.definitions);
}

/** The runs of a version that go on. */
const openRuns = (name: string, version: number): BatchFilter => ({ name, version, state: ["PENDING", "RUNNING", "WAITING"], q: "", letter: false });

/** Which runs could be moved to a version, and why others could not; nothing is changed. */
export const planMoves = (name: string, from: number, to: number): Promise<Batch> => post<Batch>("/runs:batch", { verb: "migrate", dry_run: true, name, version: to, filter: openRuns(name, from) });

export const moveRuns = (name: string, from: number, to: number, key: string): Promise<BatchProgress> => post<BatchProgress>("/batches", { verb: "migrate", name, version: to, filter: openRuns(name, from) }, key);

/** Takes back the moves to a version; runs that began with it have none, and are refused. */
export const undoMoves = (name: string, to: number, key: string): Promise<BatchProgress> => post<BatchProgress>("/batches", { verb: "undo_migration", filter: openRuns(name, to) }, key);

export const batchPath = (id: string): string => `/batches/${encodeURIComponent(id)}`;
