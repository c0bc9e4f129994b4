/** How sure it is in one sentence: it may be begun, or somebody has to look first, and why. */
import { CircleCheck, CircleX, ListChecks, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "../../components";
import { Rich } from "../../words/rich";
import { standingOf } from "./standing";
import { useManualWords } from "./speech";
import { percent, type ManualRead } from "./types";

/** Not saved, waiting for an approval, sent back, or in use. */
export type Standing = "new" | "pending" | "rejected" | "stored";

export function SureBar({ read, standing, doubtful, onNext }: { read: ManualRead; standing: Standing; doubtful: number; onNext: () => void }): ReactNode {
  const { f, m } = useManualWords();
  const { mayBegin, why } = standingOf(read);
  const waits = standing === "pending" || (standing === "new" && !mayBegin);
  const rest = standing === "rejected" ? m.rejected : waits ? m.review(why(m)) : standing === "new" ? m.mayBegin : read.confidence >= 0.8 ? m.begun : m.approvedAnyway;
  const Icon = standing === "rejected" ? CircleX : waits ? TriangleAlert : CircleCheck;
  return (
    <div className={`draft-why ${standing === "rejected" ? "tone-failed" : waits ? "tone-held" : "tone-done"}`} role="status">
      <Icon size={18} aria-hidden />
      <p className="grow"><Rich text={`${m.sure(percent(read.confidence))}${m.sureThen} ${rest}`} />{read.note && <span className="dim"> {read.note}</span>}</p>
      {doubtful > 0 ? <Button icon={ListChecks} title={`${m.nextDoubtful} (n)`} onClick={onNext}>{m.doubtful(f.number(doubtful))}</Button> : <span className="dim small manual-clear">{m.noDoubtful}</span>}
    </div>
  );
}
