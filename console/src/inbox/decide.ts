/** Sending a decision: once, with a key that is kept until an answer came. */
import { itemPath } from "./path";
import { useState } from "react";
import { close, stale } from "../api/cache";
import { ApiError, call, newKey, Offline } from "../api/client";
import type { Dict, Item, Problem } from "../api/types";
import { readPending, writePending, type Pending } from "./drafts";

/** What a work item of a process says when it is not as it was seen. */
const CHANGED = "PROC-409-VERSION";

/** After these a work item of a process goes on: somebody does it again, or I do it. */
const STAYS_OPEN = new Set<Pending["verb"]>(["reject", "rework", "take_over"]);

export type Fate =
  | { kind: "open" }
  | { kind: "sending" }
  | { kind: "done"; verb: Pending["verb"]; again: boolean }
  | { kind: "taken"; problem: Problem }
  /** It is still open, but not as I saw it when I decided. */
  | { kind: "changed"; before: Item }
  | { kind: "refused"; problem: Problem };

export function useDecision(name: string, item: Item, onDone: (verb: Pending["verb"], again: boolean) => void) {
  const [pending, setPending] = useState<Pending | null>(() => readPending(name));
  const [fate, setFate] = useState<Fate>({ kind: "open" });
  const keep = (next: Pending | null) => {
    writePending(name, next);
    setPending(next);
  };
  const path = itemPath(item);
  const send = async (one: Pending, again: boolean, seen: Item, mark?: string) => {
    setFate({ kind: "sending" });
    keep(one);
    const closes = !STAYS_OPEN.has(one.verb) || !one.path;
    if (closes) close(path, true);
    try {
      await call(one.path ?? `${path}/${one.verb}`, { method: "POST", body: one.body, key: one.key, etag: again ? undefined : `"${mark ?? seen.etag}"` });
      keep(null);
      setFate(closes ? { kind: "done", verb: one.verb, again } : { kind: "open" });
      stale("/inbox", "/home", `/runs/${item.run}`, `/processes/instances/${item.run}`, `/processes/workitems/${encodeURIComponent(item.run)}`);
      onDone(one.verb, again);
      if (item.needed > item.approvals.length + 1) close(path, false); // others still have to answer
    } catch (error) {
      close(path, false);
      if (error instanceof Offline) {
        setFate({ kind: "open" }); // what is pending stays pending: only its owner sends it again
        return;
      }
      keep(null);
      const problem: Problem = error instanceof ApiError ? error.problem : { title: "", status: 0, code: "", detail: String(error) };
      const changed = problem.status === 412 || problem.code === CHANGED;
      const gone = !changed && [404, 409, 410].includes(problem.status);
      setFate(changed ? { kind: "changed", before: seen } : { kind: gone ? "taken" : "refused", problem });
      if (gone || changed) stale(`/inbox/${item.run}`, "/inbox?", `/processes/workitems/${encodeURIComponent(item.run)}`);
    }
  };
  return {
    fate,
    pending: fate.kind === "sending" ? null : pending,
    /** `seen` is the item as it was when its dialog was opened. */
    decide: (verb: Pending["verb"], body: Dict, seen: Item) => void send({ verb, body, key: newKey() }, false, seen),
    /** The same to an address of its own, with the mark of what was seen there. */
    tell: (verb: Pending["verb"], body: Dict, seen: Item, path: string, mark: string) => void send({ verb, body, key: newKey(), path }, false, seen, mark),
    resend: () => pending && void send(pending, true, item),
    discard: () => keep(null),
    reset: () => setFate({ kind: "open" }),
  };
}
