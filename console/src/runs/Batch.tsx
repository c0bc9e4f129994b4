/** Bulk moves: a bar while runs are selected, then a dry run, its count to be typed, and the batch begins. */
import { Ban, CirclePause, CirclePlay, RefreshCw, X, type LucideIcon } from "lucide-react";
import { useEffect, useState, type FormEvent, type ReactNode } from "react";
import { newKey, post } from "../api/client";
import { useLiveness } from "../api/live";
import type { Batch, BatchAsked, BatchFilter, BatchProgress, RunSummary } from "../api/types";
import { Button, Failed, Skeleton } from "../components";
import { Dialog } from "../components/Dialog";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import { watchBatch } from "./Batches";

const VERBS = ["pause", "resume", "retry", "cancel"] as const;
type BatchVerb = (typeof VERBS)[number];
const ICON: Record<BatchVerb, LucideIcon> = { pause: CirclePause, resume: CirclePlay, retry: RefreshCw, cancel: Ban };
/** The most runs that the server takes by their ids. */
const AT_ONCE = 1000;
const SAMPLE = 6;

/** The runs of a batch: these, or all that match. */
export type BatchTarget = { ids: string[] } | { filter: BatchFilter };

interface BarProps {
  picked: ReadonlySet<string>;
  /** All that match are selected. */
  all: boolean;
  /** Null when there is no filter: then all would be every run there is. */
  onAll: (() => void) | null;
  target: () => BatchTarget;
  rows: RunSummary[];
  onClear: () => void;
}

export function BatchBar({ picked, all, onAll, target, rows, onClear }: BarProps): ReactNode {
  const { t, f } = useWords();
  const b = t.runs.batch;
  const offline = useLiveness() === "offline";
  const [asked, setAsked] = useState<{ verb: BatchVerb; target: BatchTarget } | null>(null);
  return (
    <section className="batch" aria-label={b.bar}>
      <span className="batch-said" role="status">{all ? b.allPicked : b.picked(f.number(picked.size))}</span>
      {onAll && !all && <Button look="quiet" onClick={onAll}>{b.takeAll}</Button>}
      <span className="grow" />
      {VERBS.map((verb) => <Button key={verb} look={verb === "cancel" ? "danger" : "plain"} icon={ICON[verb]} disabled={offline || (!all && picked.size > AT_ONCE)} title={offline ? t.error.banner : picked.size > AT_ONCE ? b.tooMany(f.number(AT_ONCE)) : undefined} onClick={() => setAsked({ verb, target: target() })}>{t.run[verb]}</Button>)}
      <Button look="quiet" icon={X} onClick={onClear}>{b.clear}</Button>
      {asked && <Confirm {...asked} rows={rows} onClose={() => setAsked(null)} onDone={() => { setAsked(null); onClear(); }} />}
    </section>
  );
}

interface ConfirmProps {
  verb: BatchVerb;
  target: BatchTarget;
  rows: RunSummary[];
  onClose: () => void;
  onDone: () => void;
}

function Confirm({ verb, target, rows, onClose, onDone }: ConfirmProps): ReactNode {
  const { t, f } = useWords();
  const b = t.runs.batch;
  const [dry, setDry] = useState<Batch | null>(null);
  const [failed, setFailed] = useState<unknown>(null);
  const [again, setAgain] = useState(0);
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  // one key per dialog: a second press of the button is the same request
  const [key] = useState(newKey);
  useEffect(() => {
    let shown = true;
    setFailed(null);
    post<Batch>("/runs:batch", body(verb, target)).then((got) => shown && setDry(got), (problem: unknown) => shown && setFailed(problem));
    return () => { shown = false; };
  }, [verb, target, again]);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      watchBatch(await post<BatchProgress>("/batches", { verb, ...target }, key));
      onDone();
    } catch (problem) {
      setError(errorText(problem, t));
      setBusy(false);
    }
  };
  const title = !dry ? b.checking : dry.count === 0 ? b.nobody[verb] : b.title[verb](f.number(dry.count)) + (dry.refused.length ? b.refused[verb](f.number(dry.refused.length)) : "");
  return (
    <Dialog label={title} onClose={onClose}>
      <form className="batch-form" onSubmit={(event) => void submit(event)}>
        <h2>{title}</h2>
        {failed ? <Failed error={failed} retry={() => setAgain(again + 1)} /> : !dry ? <Skeleton h={22} n={4} /> : (
          <>
            {dry.count > 0 && <p className="dim">{t.run.effect[verb]}</p>}
            {dry.more && <p>{b.more(f.number(dry.count + dry.refused.length))}</p>}
            <Sample dry={dry} rows={rows} />
            <Refused dry={dry} rows={rows} />
            {dry.count > 0 && <label><span className="label">{t.run.typed(String(dry.count))}</span><input className="input" value={typed} inputMode="numeric" autoComplete="off" onChange={(event) => setTyped(event.target.value)} /></label>}
          </>
        )}
        {error && <p className="bad" role="alert">{error}</p>}
        <div className="dialog-foot">
          <Button autoFocus onClick={onClose}>{t.run.keep}</Button>
          {dry && dry.count > 0 && <Button type="submit" look={verb === "cancel" ? "danger" : "primary"} icon={ICON[verb]} disabled={busy || typed.trim() !== String(dry.count)}>{t.run[verb]}</Button>}
        </div>
      </form>
    </Dialog>
  );
}

function body(verb: BatchVerb, target: BatchTarget): Pick<BatchAsked, "verb" | "dry_run" | "ids" | "filter"> {
  return { verb, dry_run: true, ...target };
}

const nameOf = (id: string, rows: RunSummary[]): ReactNode => {
  const run = rows.find((row) => row.id === id);
  return <>{run?.title} <span className="mono dim">{run?.key ?? id.slice(0, 9)}</span></>;
};

function Sample({ dry, rows }: { dry: Batch; rows: RunSummary[] }): ReactNode {
  const { t, f } = useWords();
  if (dry.count === 0) return null;
  const shown = dry.sample.slice(0, SAMPLE);
  return (
    <div>
      <h3 className="label">{t.runs.batch.sample}</h3>
      <ul className="batch-list">
        {shown.map((id) => <li key={id}>{nameOf(id, rows)}</li>)}
        {dry.count > shown.length && <li className="dim">{t.runs.batch.andMore(f.number(dry.count - shown.length))}</li>}
      </ul>
    </div>
  );
}

/** The refused runs with their reasons: their state when the list knows it, else the server's words. */
function Refused({ dry, rows }: { dry: Batch; rows: RunSummary[] }): ReactNode {
  const { t, runWord, stateWord } = useWords();
  if (dry.refused.length === 0) return null;
  return (
    <div>
      <h3 className="label">{t.runs.batch.why}</h3>
      <ul className="batch-list batch-refused" tabIndex={0} aria-label={t.runs.batch.why}>
        {dry.refused.map((refusal) => {
          const run = rows.find((row) => row.id === refusal.run);
          return <li key={refusal.run}>{nameOf(refusal.run, rows)} <span className="dim">{run ? t.runs.batch.is(runWord(run)) : refusal.state ? t.runs.batch.is(stateWord(refusal.state)) : refusal.reason} · <code>{refusal.code}</code></span></li>;
        })}
      </ul>
    </div>
  );
}
