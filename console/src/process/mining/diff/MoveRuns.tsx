/** Moving runs under way to the new version: a dry run with its refusals, the count typed, progress, and the way back. */
import { Route, Undo2 } from "lucide-react";
import { useEffect, useState, type FormEvent, type ReactNode } from "react";
import { stale, useGet } from "../../../api/cache";
import { newKey } from "../../../api/client";
import type { Batch, BatchProgress } from "../../../api/types";
import { Button, Failed, Skeleton } from "../../../components";
import { Dialog } from "../../../components/Dialog";
import { toast } from "../../../components/toast";
import { errorText } from "../../../words/errorText";
import { batchPath, MINING, moveRuns, planMoves, undoMoves } from "../requests";
import { useMiningWords } from "../speech";
import type { ModelDiff } from "../types";

export function Refusals({ refused }: { refused: { reason: string; count: number }[] }): ReactNode {
  const { m, f } = useMiningWords();
  if (refused.length === 0) return null;
  return <div><h3 className="label">{m.diff.moveRefused}</h3><ul className="mine-refused" tabIndex={0} aria-label={m.diff.moveRefused}>{refused.map(({ reason, count }) => <li key={reason}><b className="ink-held">{m.diff.cannot(f.number(count))}</b> <span className="dim">{reason}</span></li>)}</ul></div>;
}

/** The refusals of a dry run, by reason. */
const byReason = ({ refused }: Batch): { reason: string; count: number }[] => {
  const counts = new Map<string, number>();
  for (const { reason } of refused) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].map(([reason, count]) => ({ reason, count })).sort((a, b) => b.count - a.count);
};

interface Props {
  diff: ModelDiff;
  /** The version that they are moved to; null while it is not approved, when this only tells what would happen. */
  version: number | null;
  onClose: () => void;
  onMove: () => void;
}

export function MoveDialog({ diff, version, onClose, onMove }: Props): ReactNode {
  const { t, m, f } = useMiningWords();
  const d = m.diff;
  const [plan, setPlan] = useState<Batch | null>(null);
  const [failed, setFailed] = useState<unknown>(null);
  const [typed, setTyped] = useState("");
  useEffect(() => {
    if (version === null) return;
    let gone = false;
    planMoves(diff.id, diff.base_version, version).then((batch) => !gone && setPlan(batch), (error: unknown) => !gone && setFailed(error));
    return () => { gone = true; };
  }, [diff.id, diff.base_version, version]);
  const count = version === null ? diff.running.can_move : plan?.count;
  const refused = version === null ? diff.running.cannot : plan ? byReason(plan) : [];
  const title = count === undefined ? d.moveChecking : count === 0 ? d.moveNone : d.moveTitle(f.number(count), version ?? diff.base_version + 1);
  const submit = (event: FormEvent) => { event.preventDefault(); onMove(); };
  return (
    <Dialog label={title} onClose={onClose}>
      <form className="mine-form" onSubmit={submit}>
        <h2>{title}</h2>
        {failed !== null ? <Failed error={failed} /> : count === undefined ? <Skeleton h={22} n={3} /> : (
          <>
            <p className="dim">{d.moveEffect}</p>
            {version === null && diff.running.at.length > 0 && <div><h3 className="label">{d.sample}</h3><ul className="mine-refused">{diff.running.at.map(({ activity, count: n }) => <li key={activity}>{activity} <b>{f.number(n)}</b></li>)}</ul></div>}
            <Refusals refused={refused} />
            {version !== null && count > 0 && <label><span className="label">{t.run.typed(String(count))}</span><input className="input" inputMode="numeric" autoComplete="off" value={typed} onChange={(event) => setTyped(event.target.value)} /></label>}
          </>
        )}
        <div className="dialog-foot"><Button data-first onClick={onClose}>{version === null ? t.nav.close : t.run.keep}</Button>{version !== null && !!count && <Button type="submit" look="primary" icon={Route} disabled={typed.trim() !== String(count)}>{d.moveDo(f.number(count))}</Button>}</div>
      </form>
    </Dialog>
  );
}

export interface Moving {
  batch: BatchProgress | undefined;
  /** It takes moves back. */
  isUndo: boolean;
  busy: boolean;
  begin: (from: number, to: number) => Promise<void>;
  undo: () => Promise<void>;
}

const LOOK_MS = 700;
const isOpen = ({ state }: BatchProgress): boolean => state === "running" || state === "paused";

/** The batch that moves runs, or takes that back, asked again until it has ended. */
export function useMoving(name: string): Moving {
  const { t, m, f } = useMiningWords();
  const [begun, setBegun] = useState<{ id: string; to: number; isUndo: boolean } | null>(null);
  const [busy, setBusy] = useState(false);
  const { data: batch, reload } = useGet<BatchProgress>(begun ? batchPath(begun.id) : null);
  const open = batch !== undefined && isOpen(batch);
  useEffect(() => {
    if (!begun || (batch && !open)) return;
    const timer = window.setInterval(() => !document.hidden && reload(), LOOK_MS);
    return () => window.clearInterval(timer);
  });
  useEffect(() => {
    if (!begun || !batch || open) return;
    stale("/runs", MINING);
    toast(begun.isUndo ? m.diff.undone(f.number(batch.done)) : batch.refused > 0 ? m.diff.movedBut(f.number(batch.done), f.number(batch.refused)) : m.diff.moved(f.number(batch.done)), { bad: batch.done === 0 });
  }, [begun?.id, open, batch?.id]);
  const send = async (to: number, isUndo: boolean, ask: () => Promise<BatchProgress>) => {
    setBusy(true);
    try {
      setBegun({ id: (await ask()).id, to, isUndo });
    } catch (error) {
      toast(errorText(error, t), { bad: true });
    }
    setBusy(false);
  };
  return {
    batch, isUndo: begun?.isUndo ?? false, busy,
    begin: (from, to) => send(to, false, () => moveRuns(name, from, to, newKey())),
    undo: async () => { if (begun) await send(begun.to, true, () => undoMoves(name, begun.to, newKey())); },
  };
}

export function MoveProgress({ moving: { batch, isUndo, busy, undo } }: { moving: Moving }): ReactNode {
  const { m, f } = useMiningWords();
  const d = m.diff;
  if (!batch) return null;
  const all = batch.total ?? batch.looked;
  const done = isUndo ? d.undone(f.number(batch.done)) : batch.refused > 0 ? d.movedBut(f.number(batch.done), f.number(batch.refused)) : d.moved(f.number(batch.done));
  const counts = new Map<string, number>();
  if (!isUndo) for (const { reason } of batch.refusals) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return (
    <section className="mine-progress" aria-label={d.moveEffect}>
      <p role="status"><b>{isOpen(batch) ? (isUndo ? d.undoing : d.moving(f.number(batch.done), f.number(all))) : done}</b>{!isOpen(batch) && !isUndo && batch.done > 0 && <Button icon={Undo2} disabled={busy} onClick={() => void undo()}>{d.undo}</Button>}</p>
      <Refusals refused={[...counts].map(([reason, count]) => ({ reason, count }))} />
    </section>
  );
}
