/** Sending a decision: once, with a key that is kept until an answer came. */
import { itemPath } from "./path";
import { useState } from "react";
import { close, stale } from "../api/cache";
import { ApiError, call, newKey, Offline } from "../api/client";
import type { Dict, Item, Problem } from "../api/types";
import { readPending, writePending, type Pending } from "./drafts";

export type Fate =
  | { kind: "open" }
  | { kind: "sending" }
  | { kind: "done"; verb: Pending["verb"]; again: boolean }
  | { kind: "taken"; problem: Problem }
  | { kind: "refused"; problem: Problem };

export function useDecision(name: string, item: Item, onDone: (verb: Pending["verb"], again: boolean) => void) {
  const [pending, setPending] = useState<Pending | null>(() => readPending(name));
  const [fate, setFate] = useState<Fate>({ kind: "open" });
  const keep = (next: Pending | null) => {
    writePending(name, next);
    setPending(next);
  };
  const path = itemPath(item);
  const send = async (one: Pending, again: boolean) => {
    setFate({ kind: "sending" });
    keep(one);
    close(path, true);
    try {
      await call(`${path}/${one.verb}`, { method: "POST", body: one.body, key: one.key, etag: again ? undefined : `"${item.etag}"` });
      keep(null);
      setFate({ kind: "done", verb: one.verb, again });
      stale("/inbox", "/home", `/runs/${item.run}`);
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
      const gone = [404, 409, 410, 412].includes(problem.status);
      setFate({ kind: gone ? "taken" : "refused", problem });
      if (gone) stale(`/inbox/${item.run}`, "/inbox?");
    }
  };
  return {
    fate,
    pending: fate.kind === "sending" ? null : pending,
    decide: (verb: Pending["verb"], body: Dict) => void send({ verb, body, key: newKey() }, false),
    resend: () => pending && void send(pending, true),
    discard: () => keep(null),
    reset: () => setFate({ kind: "open" }),
  };
}
