/** The sentence "why is it stuck": what it waits for, how long, what happens by itself and when (CONSOLE 6). */
import type { Run, RunSummary, Why } from "../api/types";
import type { Format } from "./format";
import type { Dictionary } from "./ko";
import { b } from "./rich";

export interface Speaker {
  t: Dictionary;
  f: Format;
  /** Now, in ms: sentences are about how long, so they change while nothing happens. */
  now: number;
}

export function whySentence(why: Why, { t, f, now }: Speaker): string {
  const w = t.why;
  const node = why.label ?? why.node ?? "";
  const long = why.since ? f.duration(now - Date.parse(why.since), now - Date.parse(why.since) < 3_600_000 ? 1 : 2) : "";
  switch (why.kind) {
    case "failed":
      return w.failed(node, why.code, why.attempt) + (why.message ? ` ${why.message}` : "");
    case "breaker":
      return w.breaker(why.what ?? node, why.code, why.attempt) + next(why, { t, f, now });
    case "no_worker":
      return w.no_worker(why.what ?? node);
    case "dead_join":
      return w.dead_join(node, why.what);
    case "backoff":
      return w.backoff(node, why.code) + next(why, { t, f, now });
    case "limit":
      return (why.what ? w.limit(w.limitNames[why.what] ?? why.what) : w.limitPlain) + (why.until ? next(why, { t, f, now }) : "");
    case "paused":
      return w.paused(why.who[0] ? person(why.who[0], t) : null);
    case "work": {
      const who = why.who.length ? people(why.who, t) : null;
      const kind = why.move === "approve" ? w.workApproval : why.move === "judge" ? w.workReview : w.workItem;
      return kind(who, long) + then(why, { t, f, now });
    }
    case "event":
      return w.event(why.what ?? node, long) + then(why, { t, f, now });
    case "job":
      return why.who[0] && why.until ? w.jobTaken(why.what ?? node, why.who[0], f.when(why.until, now)) : w.job(why.what ?? node, long);
    case "child":
      return w.child(why.what ?? node, long);
    case "timer":
      return why.until ? w.timer(f.when(why.until, now)) : w.timerPlain;
  }
}

function next(why: Why, { t, f, now }: Speaker): string {
  if (!why.until) return "";
  return t.why.backoffNext(f.duration(Math.max(1000, Date.parse(why.until) - now), 1), why.attempt, why.of);
}

function then(why: Why, { t, f, now }: Speaker): string {
  const w = t.why;
  if (!why.until) return w.noDue;
  const until = f.when(why.until, now);
  switch (why.then?.kind) {
    case "escalate": return w.thenEscalate(until);
    case "fail": return w.thenFail(until);
    case "continue": return w.thenContinue(until);
    case "retry": return w.thenRetry(until);
    case "path": return w.thenPath(until, why.then.to ?? "");
    default: return w.until(until);
  }
}

export function people(who: string[], t: Dictionary): string {
  return who.map((id) => person(id, t)).join(", ");
}

/** The names of registered people, as far as I may read them; the session sets them before a screen is shown. */
const names = new Map<string, string>();

export function setNames(users: { id: string; name: string }[]): void {
  names.clear();
  for (const user of users) names.set(user.id, user.name);
}

/** The name of "role:quality_manager" or "kim@example.com". */
export function person(id: string, t: Dictionary): string {
  const name = id.replace(/^(role|user|group):/, "");
  return t.role[name] ?? names.get(name) ?? name;
}

/** The sentence of a run that nothing holds. */
export function runSentence(run: Pick<Run | RunSummary, "state" | "node" | "active_ms" | "result">, { t, f }: Speaker): string {
  switch (run.state) {
    case "COMPLETED": return t.run.doneWhy(f.duration(run.active_ms));
    case "CANCELLED": return t.run.cancelledWhy;
    case "COMPENSATED": return run.result ? t.run.undoneWhy(run.result) : t.run.compensatedWhy;
    case "COMPENSATING": return t.run.compensatingWhy;
    case "PENDING": return t.run.queued;
    case "FAILED": case "TIMEOUT": return run.result ? b(run.result) : t.run.failedWhy;
    default: return run.node ? t.run.flowing(run.node) : t.run.flowingPlain;
  }
}
