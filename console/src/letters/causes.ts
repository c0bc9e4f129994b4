/** A cause of dead letters: of runs, or of messages that nobody could take; both are looked at and tried again alike. */
import { call, post, query } from "../api/client";
import type { Batch, BatchFilter, Care, FailedCauses, Page, Run, RunSummary } from "../api/types";
import type { LetterParts, MessageCause } from "../languages/contract";

export interface Letter {
  id: string;
  name: string;
  detail: string;
  /** Its page, where it has one. */
  to: string | null;
  /** How often it was tried again, and how often it may be. */
  tries: string;
}

export interface Redrive {
  count: number;
  /** There are more than were looked at. */
  more: boolean;
  /** Why some are refused, how many for each reason, and which, where they have a page. */
  refused: { why: string; count: number; runs: string[] }[];
}

/** What became of one that was tried again; null while that is not known. */
export interface Outcome {
  through: boolean;
  word: string;
  tookMs: number | null;
}

export interface LetterCause {
  id: string;
  language: string;
  code: string;
  message: string;
  where: { name: string; text: string; to: string | null }[];
  count: number;
  firstAt: string;
  lastAt: string;
  curable: boolean;
  /** How many came in each piece of the shared axis; null when it is not known. */
  pieces: number[] | null;
  /** Where it has to be mended, when trying again cannot help. */
  mend: string | null;
  /** The permission that trying again needs. */
  permission: string;
  sample: (most: number) => Promise<Letter[]>;
  one: (id: string, key: string) => Promise<void>;
  outcome: (id: string) => Promise<Outcome | null>;
  /** Whether all go as a batch of the server, with a speed and a stop of its own. */
  batched: boolean;
  dryRun: () => Promise<Redrive>;
  /** A batch of the server, or nothing when it was done at once. */
  all: (key: string, care: Care) => Promise<unknown>;
}

/** Of runs that have failed, by document, node and code. */
export function ofRuns(causes: FailedCauses): LetterCause[] {
  return causes.items.map((cause) => {
    const filter: Partial<BatchFilter> = { state: ["FAILED"], name: cause.name, ...(cause.code ? { code: cause.code } : {}), ...(cause.node ? { failed_node: cause.node } : {}) };
    const list = query({ state: "FAILED", name: cause.name, code: cause.code, failed_node: cause.node });
    return {
      id: `${cause.name}/${cause.node}/${cause.code}`, language: cause.language, code: cause.code, message: cause.message,
      where: [{ name: cause.name, text: cause.title, to: `/runs${list}` }, ...(cause.label && cause.label !== cause.title ? [{ name: cause.node, text: cause.label, to: null }] : [])],
      count: cause.count, firstAt: cause.first_at, lastAt: cause.last_at, curable: cause.curable, pieces: cause.pieces, permission: "run.steer",
      mend: `/definitions/${encodeURIComponent(cause.name)}${query({ node: cause.node })}`,
      sample: async (most) => (await call<Page<RunSummary>>(`/runs${list}&limit=${most}`)).items.map((run) => ({ id: run.id, name: run.key ?? run.id.slice(0, 13), detail: run.title, to: `/runs/${run.id}`, tries: "" })),
      one: async (id, key) => { await post(`/runs/${encodeURIComponent(id)}/retry`, { how: "here" }, key); },
      outcome: async (id) => outcomeOf(await call<Run>(`/runs/${encodeURIComponent(id)}`)),
      batched: true,
      dryRun: async () => refusals(await post<Batch>("/runs:batch", { verb: "retry", dry_run: true, filter: whole(filter) })),
      all: async (key, care) => post("/batches", { verb: "retry", filter: whole(filter), reason: `${cause.label || cause.title} · ${cause.code}`, care }, key),
    };
  });
}

/** The whole filter of a batch; runs that fail after now do not belong to it. */
const whole = (filter: Partial<BatchFilter>): Partial<BatchFilter> => ({ q: "", letter: false, until: new Date().toISOString(), ...filter });

/** A run that waits for somebody has come through what had failed. */
function outcomeOf({ state, status, active_ms }: Run): Outcome | null {
  if (state === "PENDING" || state === "RUNNING" || state === "COMPENSATING") return null;
  return { through: state !== "FAILED" && state !== "TIMEOUT", word: status, tookMs: active_ms };
}

function refusals(dry: Batch): Redrive {
  const runs = new Map<string, string[]>();
  for (const { state, reason, code, run } of dry.refused) runs.set(reason || state || code, [...(runs.get(reason || state || code) ?? []), run]);
  return { count: dry.count, more: dry.more, refused: [...runs].map(([why, ids]) => ({ why, count: ids.length, runs: ids })) };
}

/** Of messages of a language. */
export function ofMessages(language: string, parts: LetterParts, causes: MessageCause[]): LetterCause[] {
  return causes.map((cause) => ({
    id: `${language}:${cause.queue}/${cause.code}`, language, code: cause.code, message: cause.message, where: [{ name: cause.queue, text: cause.queue, to: null }],
    count: cause.count, firstAt: cause.firstAt, lastAt: cause.lastAt, curable: cause.curable, pieces: null, mend: null, permission: parts.redrivePermission,
    sample: async (most) => (await parts.sample(cause, most)).map((message) => ({ ...message, to: null })),
    one: async (id, key) => { await parts.redrive(cause, [id], false, key); },
    outcome: async () => ({ through: true, word: "", tookMs: null }),
    batched: false,
    dryRun: async () => { const { count, refused } = await parts.redrive(cause, null, true, ""); return { count, more: false, refused: refused.map((each) => ({ ...each, runs: [] })) }; },
    all: async (key) => parts.redrive(cause, null, false, key),
  }));
}
