/** Who closed an item and when, as a sentence; the server tells it in the state of its problem, or in its detail. */
import type { Problem } from "../api/types";
import type { Words } from "../words";
import { person } from "../words/why";

export function closedBy(problem: Problem, t: Words["t"], f: Words["f"]): string | null {
  const state = problem.state;
  if (state && typeof state === "object" && !Array.isArray(state) && typeof state["by"] === "string" && typeof state["at"] === "string") {
    const decision = String(state["decision"] ?? "");
    const who = person(state["by"], t);
    const at = f.clock(state["at"]);
    return /reject/i.test(decision) ? t.inbox.rejectedBy(who, at) : /approve/i.test(decision) ? t.inbox.approvedBy(who, at) : t.inbox.decidedBy(who, at, decision);
  }
  return problem.status === 409 && problem.detail ? problem.detail : null;
}
