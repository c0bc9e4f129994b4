/** Who closed an item, when and how, as a sentence; the server tells it in the body of a 409. */
import type { Problem } from "../api/types";
import type { Words } from "../words";
import { person } from "../words/why";

/** Null when it is not known, or when nobody decided: the run may have ended by itself. */
export function closedBy(problem: Problem | null, { t, f }: Pick<Words, "t" | "f">): string | null {
  const decided = problem?.decided;
  if (!decided?.by) return null;
  const who = person(decided.by, t);
  const at = f.clock(decided.at);
  if (decided.decision === "rejected") return t.inbox.rejectedBy(who, at);
  return decided.decision === "approved" ? t.inbox.approvedBy(who, at) : t.inbox.decidedBy(who, at, t.inbox.verdicts[decided.decision ?? ""] ?? decided.decision ?? "");
}
