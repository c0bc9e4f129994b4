/** Sending a decision once, with an idempotency key that is kept until the server has answered. */
import { useState } from "react";
import { close, stale } from "../api/cache";
import { ApiError, call, newKey, Offline } from "../api/client";
import type { Dict, Item, Problem } from "../api/types";
import { addressesOfRun, itemPartsOf } from "../languages";
import { readPending, writePending, type Pending } from "./drafts";
import { itemPath } from "./itemPath";

export type Fate =
  | { kind: "open" }
  | { kind: "sending" }
  | { kind: "done"; verb: Pending["verb"]; again: boolean }
  | { kind: "taken"; problem: Problem }
  /** It is still open, but has changed since I saw it. */
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
  const parts = itemPartsOf(item);
  const send = async (decision: Pending, again: boolean, seen: Item, etag: string) => {
    setFate({ kind: "sending" });
    keep(decision);
    const closes = !decision.path || !parts?.staysOpen.has(decision.verb);
    if (closes) close(path, true);
    try {
      await call(decision.path ?? `${path}/${decision.verb}`, { method: "POST", body: decision.body, key: decision.key, etag: again ? undefined : `"${etag}"` });
      keep(null);
      setFate(closes ? { kind: "done", verb: decision.verb, again } : { kind: "open" });
      stale("/inbox", "/home", `/runs/${item.run}`, ...addressesOfRun(item.run));
      onDone(decision.verb, again);
      if (item.needed > item.approvals.length + 1) close(path, false); // others still have to answer
    } catch (error) {
      close(path, false);
      if (error instanceof Offline) {
        setFate({ kind: "open" }); // what is pending stays pending: only its owner sends it again
        return;
      }
      keep(null);
      const problem: Problem = error instanceof ApiError ? error.problem : { title: "", status: 0, code: "", detail: String(error) };
      const changed = problem.status === 412 || (parts !== undefined && problem.code === parts.changedCode);
      const gone = !changed && [404, 409, 410].includes(problem.status);
      setFate(changed ? { kind: "changed", before: seen } : { kind: gone ? "taken" : "refused", problem });
      if (gone || changed) stale("/inbox?", `/inbox/${item.run}`, ...addressesOfRun(item.run));
    }
  };
  return {
    fate,
    pending: fate.kind === "sending" ? null : pending,
    /** `seen` is the item as it was when its dialog was opened. */
    decide: (verb: Pending["verb"], body: Dict, seen: Item) => void send({ verb, body, key: newKey() }, false, seen, seen.etag),
    /** The same at an address of its own, with the etag of what was seen there. */
    decideAt: (address: string, verb: Pending["verb"], body: Dict, seen: Item, etag: string) => void send({ verb, body, key: newKey(), path: address }, false, seen, etag),
    resend: () => pending && void send(pending, true, item, item.etag),
    discard: () => keep(null),
    reset: () => setFate({ kind: "open" }),
  };
}
