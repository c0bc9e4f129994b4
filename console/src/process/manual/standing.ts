/** Whether what was read may be begun, and why somebody has to look at it first. */
import { findingsOf } from "./ReadFindings";
import { ENOUGH, percent, type ManualRead } from "./types";
import type { ManualWords } from "./words.ko";

export interface Standing {
  /** The server lets it be begun without an approval. */
  mayBegin: boolean;
  /** It is sure enough; if it waits nevertheless, two people decide here. */
  certain: boolean;
  /** In words, what keeps it from being sure. */
  why: (m: ManualWords) => string;
}

export function standingOf(read: ManualRead): Standing {
  const error = findingsOf(read).find(({ severity }) => severity === "error");
  const certain = read.confidence >= ENOUGH && !error;
  return {
    mayBegin: read.approval_status === "approved", certain,
    why: (m) => (error ? m.why.error(error.message) : certain ? m.why.byTwo : weakest(read, m)),
  };
}

/** The parts of its confidence that are below what is enough, the worst first. */
function weakest(read: ManualRead, m: ManualWords): string {
  const weak = Object.entries(read.parts).filter(([, share]) => share < ENOUGH).sort(([, a], [, b]) => a - b).slice(0, 2);
  if (weak.length === 0) return m.why.low;
  const named = weak.map(([part, share]) => ({ name: m.parts[part] ?? part, share: percent(share) }));
  return m.why.parts(named.map(({ name, share }) => m.partIs(name, share)).join(m.and), named.at(-1)?.name ?? "");
}
