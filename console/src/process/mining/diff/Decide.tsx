/** Approving a discovered model, with the count of the runs that go with it typed; rejecting it, with the reason. */
import { Check, X } from "lucide-react";
import { useState, type FormEvent, type ReactNode } from "react";
import { newKey } from "../../../api/client";
import { Button } from "../../../components";
import { Dialog, type Anchor } from "../../../components/Dialog";
import { toast } from "../../../components/toast";
import { errorText } from "../../../words/errorText";
import { approveModel, rejectModel } from "../requests";
import { useMiningWords } from "../speech";
import type { ModelDiff } from "../types";
import { nextVersion } from "./DecisionPanel";
import { Refusals } from "./MoveRuns";

/** `moves`: so many runs are moved as soon as it is approved. */
export function ApproveModel({ diff, moves, onClose, onDone }: { diff: ModelDiff; moves: number; onClose: () => void; onDone: (version: number) => void }): ReactNode {
  const { t, m, f } = useMiningWords();
  const d = m.diff;
  const [comment, setComment] = useState("");
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [key] = useState(newKey);
  const version = nextVersion(diff);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const approved = await approveModel(diff, comment.trim(), key);
      toast(d.didApprove(approved.version));
      onDone(approved.version);
    } catch (error) {
      setProblem(errorText(error, t));
      setBusy(false);
    }
  };
  return (
    <Dialog label={d.approveTitle(version)} onClose={onClose}>
      <form className="mine-form" onSubmit={(event) => void submit(event)}>
        <h2>{d.approveTitle(version)}</h2>
        <p>{d.approveEffect(diff.name, version)}{moves > 0 && ` ${d.approveMoves(f.number(moves))}`}</p>
        {moves > 0 && <Refusals refused={diff.running.cannot} />}
        <label><span className="label">{d.comment}<span className="dim">{t.common.optional}</span></span><textarea className="input" rows={2} maxLength={2000} value={comment} onChange={(event) => setComment(event.target.value)} /></label>
        {moves > 0 && <label><span className="label">{t.run.typed(String(moves))}</span><input className="input" inputMode="numeric" autoComplete="off" value={typed} onChange={(event) => setTyped(event.target.value)} /></label>}
        {problem && <p className="bad" role="alert">{problem}</p>}
        <div className="dialog-foot"><Button data-first onClick={onClose}>{t.inbox.notNow}</Button><Button type="submit" look="primary" icon={Check} disabled={busy || (moves > 0 && typed.trim() !== String(moves))}>{d.approve(version)}</Button></div>
      </form>
    </Dialog>
  );
}

export function RejectModel({ diff, anchor, onClose }: { diff: ModelDiff; anchor: Anchor | null; onClose: () => void }): ReactNode {
  const { t, m } = useMiningWords();
  const d = m.diff;
  const [comment, setComment] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [key] = useState(newKey);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!comment.trim()) { setProblem(d.rejectNeeded); return; }
    setBusy(true);
    try {
      await rejectModel(diff, comment.trim(), key);
      toast(d.didReject);
      onClose();
    } catch (error) {
      setProblem(errorText(error, t));
      setBusy(false);
    }
  };
  return (
    <Dialog label={d.rejectTitle} look="popover" anchor={anchor} onClose={onClose}>
      <form className="mine-form" onSubmit={(event) => void submit(event)}>
        <h2>{d.rejectTitle}</h2>
        <p>{d.rejectEffect}</p>
        <label><span className="label">{d.comment}<span className="star"> *</span></span><textarea data-first className="input" rows={3} maxLength={2000} value={comment} onChange={(event) => { setProblem(null); setComment(event.target.value); }} /></label>
        {problem && <p className="bad" role="alert">{problem}</p>}
        <div className="dialog-foot"><Button onClick={onClose}>{t.inbox.notNow}</Button><Button type="submit" look="danger" icon={X} disabled={busy}>{d.reject}</Button></div>
      </form>
    </Dialog>
  );
}
