/** Batches: a strip that tells how far those under way are, and a window with the last ones and their failures. */
import { ListChecks, OctagonX, Pause, Play, X } from "lucide-react";
import { useEffect, useState, useSyncExternalStore, type ReactNode } from "react";
import { stale, useGet } from "../api/cache";
import { post } from "../api/client";
import type { BatchProgress, Page } from "../api/types";
import { Badge, Button, Empty, Failed, Skeleton } from "../components";
import { Dialog } from "../components/Dialog";
import { toast } from "../components/toast";
import { Link } from "../shell/router";
import { useWords } from "../words";
import { errorText } from "../words/errorText";

const LAST = "/batches?limit=20";
const LOOK_MS = 700;
/** Why a batch is paused that nobody has paused. */
const STOPPED = "STOPPED_ITSELF";
const TONE = { running: "moving", paused: "held", done: "done", cancelled: "idle", failed: "failed" } as const;

/** Batches that this page has seen under way, and that nobody has put out of sight. */
const watched = new Set<string>();
/** Those of them that were not told to be over yet. */
const untold = new Set<string>();
const listeners = new Set<() => void>();
let version = 0;

function changed(): void {
  version += 1;
  listeners.forEach((listener) => listener());
}

export function watchBatch(batch: BatchProgress): void {
  if (watched.has(batch.id)) return;
  watched.add(batch.id);
  untold.add(batch.id);
  stale("/batches");
  changed();
}

function hide(id: string): void {
  watched.delete(id);
  changed();
}

function useWatched(): ReadonlySet<string> {
  useSyncExternalStore((listener) => { listeners.add(listener); return () => listeners.delete(listener); }, () => version);
  return watched;
}

const isOpen = ({ state }: BatchProgress): boolean => state === "running" || state === "paused";

export function BatchStrip({ steer }: { steer: boolean }): ReactNode {
  const { t, f } = useWords();
  const b = t.runs.batch;
  const mine = useWatched();
  const { data, reload } = useGet<Page<BatchProgress>>(LAST);
  const batches = data?.items ?? [];
  const running = batches.some(isOpen) || untold.size > 0;
  const far = batches.map((batch) => batch.looked + batch.back).join();
  useEffect(() => { if (running) stale("/dead-letters"); }, [far, running]);
  useEffect(() => {
    if (!running) return;
    const timer = window.setInterval(() => !document.hidden && reload(), LOOK_MS);
    return () => window.clearInterval(timer);
  });
  useEffect(() => {
    for (const batch of batches) {
      if (isOpen(batch)) watchBatch(batch);
      else if (untold.delete(batch.id)) {
        stale("/runs", "/home", "/inbox", "/dead-letters");
        toast(batch.state === "cancelled" ? b.stopped : batch.refused ? b.doneBut(f.number(batch.done), f.number(batch.refused)) : b.done(f.number(batch.done)), { bad: batch.done === 0 });
        // nothing is left to say of one that nobody has refused
        if (batch.state === "done" && batch.refused === 0 && batch.back === 0) hide(batch.id);
        changed();
      }
    }
  }, [batches, b, f]);
  const shown = batches.filter((batch) => mine.has(batch.id));
  if (shown.length === 0) return null;
  return (
    <section className="batches" aria-label={b.batches}>
      {shown.map((batch) => <One key={batch.id} batch={batch} steer={steer} onHide={() => hide(batch.id)} />)}
    </section>
  );
}

function One({ batch, steer, onHide }: { batch: BatchProgress; steer: boolean; onHide?: () => void }): ReactNode {
  const { t, f } = useWords();
  const b = t.runs.batch;
  const [busy, setBusy] = useState(false);
  const verb = (t.run as unknown as Record<string, string>)[batch.verb] ?? batch.verb;
  const turn = async (how: "cancel" | "pause" | "resume") => {
    setBusy(true);
    try {
      await post(`/batches/${batch.id}/${how}`);
    } catch (problem) {
      toast(errorText(problem, t), { bad: true });
    }
    setBusy(false);
    stale("/batches");
  };
  const under = isOpen(batch);
  const first = batch.care.first;
  const waits = batch.state === "running" && first !== null && batch.done === first && batch.through + batch.back < first;
  return (
    <article className="batch-one">
      <div className="batch-line">
        <Badge tone={TONE[batch.state]}>{b.state[batch.state]}</Badge>
        <b>{verb}</b>
        {isRetry(batch) ? <><b>{batch.reason}</b><span>{b.ofAll(f.number(batch.looked), f.number(batch.total), f.number((100 * batch.looked) / Math.max(1, batch.total)))}</span></>
          : <span>{b.counts(f.number(batch.done), f.number(batch.looked), batch.total === null ? null : f.number(batch.total), f.number(batch.refused))}</span>}
        <span className="dim">{b.by(batch.by, f.dayTime(batch.started_at))}{batch.reason && !isRetry(batch) ? ` · ${batch.reason}` : ""}</span>
        <span className="grow" />
        {waits ? <span className="dim">{b.firstWait(f.number(first))}</span> : batch.state === "running" && batch.care.per_second !== null && batch.total !== null && <span className="dim">{b.paceLeft(f.number(batch.care.per_second), f.duration((Math.max(0, batch.total - batch.looked) / batch.care.per_second) * 1000, 1))}</span>}
        {batch.state === "running" && steer && <Button icon={Pause} disabled={busy} onClick={() => void turn("pause")}>{b.pause}</Button>}
        {batch.state === "paused" && steer && <Button look="primary" icon={Play} disabled={busy} onClick={() => void turn("resume")}>{b.resume}</Button>}
        {under && steer && <Button look="danger" icon={OctagonX} disabled={busy} onClick={() => void turn("cancel")}>{b.stop}</Button>}
        {!under && onHide && <Button look="quiet" icon={X} onClick={onHide}>{b.hide}</Button>}
      </div>
      {isRetry(batch) ? <Parts batch={batch} /> : under && <progress aria-label={b.progress(verb)} max={batch.total ?? undefined} value={batch.total === null ? undefined : Math.min(batch.looked, batch.total)} />}
      {batch.code === STOPPED ? <p className="ink-held" role="status">{b.selfStopped(batch.care.most_failed ?? 0)}</p> : batch.message && <p className="bad">{batch.message} · <code>{batch.code}</code></p>}
      {batch.refused > 0 && <Failures batch={batch} />}
    </article>
  );
}

type Retry = BatchProgress & { total: number };
const isRetry = (batch: BatchProgress): batch is Retry => batch.verb === "retry" && batch.total !== null;

/** What became of them; the four always add up to all. */
function Parts({ batch }: { batch: Retry }): ReactNode {
  const { t, f } = useWords();
  const b = t.runs.batch;
  const parts = [["sent", batch.done - batch.back], ["skipped", batch.refused], ["back", batch.back], ["left", Math.max(0, batch.total - batch.looked)]] as const;
  return (
    <>
      <span className="batch-parts" aria-hidden>{parts.map(([name, count]) => count > 0 && <i key={name} className={`part-${name}`} style={{ flexGrow: count }} />)}</span>
      <ul className="batch-counts">{parts.map(([name, count]) => <li key={name}><i className={`part-${name}`} aria-hidden />{b.parts[name]} <b>{f.number(count)}</b></li>)}</ul>
    </>
  );
}

function Failures({ batch }: { batch: BatchProgress }): ReactNode {
  const { t, f, stateWord } = useWords();
  const b = t.runs.batch;
  const rest = batch.refused - batch.refusals.length;
  return (
    <details>
      <summary>{b.failures(f.number(batch.refused))}</summary>
      <ul className="batch-list batch-refused">
        {batch.refusals.map((refusal) => <li key={refusal.run}><Link to={`/runs/${refusal.run}`} className="mono">{refusal.run}</Link> <span className="dim">{refusal.state ? b.is(stateWord(refusal.state)) : refusal.reason} · <code>{refusal.code}</code></span></li>)}
        {rest > 0 && <li className="dim">{b.andOthers(f.number(rest))}</li>}
      </ul>
    </details>
  );
}

export function BatchesButton({ steer }: { steer: boolean }): ReactNode {
  const { t } = useWords();
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button look="quiet" icon={ListChecks} onClick={() => setOpen(true)}>{t.runs.batch.open}</Button>
      {open && <Past steer={steer} onClose={() => setOpen(false)} />}
    </>
  );
}

function Past({ steer, onClose }: { steer: boolean; onClose: () => void }): ReactNode {
  const { t } = useWords();
  const b = t.runs.batch;
  const { data, error, reload } = useGet<Page<BatchProgress>>(LAST);
  return (
    <Dialog label={b.batches} onClose={onClose}>
      <h2>{b.batches}</h2>
      {error && !data ? <Failed error={error} retry={reload} /> : !data ? <Skeleton h={22} n={4} />
        : data.items.length === 0 ? <Empty title={b.none} />
        : <div className="batch-past" tabIndex={0} aria-label={b.batches} role="region">{data.items.map((batch) => <One key={batch.id} batch={batch} steer={steer} />)}</div>}
      <div className="dialog-foot"><Button autoFocus onClick={onClose}>{b.close}</Button></div>
    </Dialog>
  );
}
