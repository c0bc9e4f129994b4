/** All of a cause at once: a sample, one, then all, with a dry run, its refusals, its speed, and a typed count. */
import { Check, FileBraces, ListRestart, ShieldCheck, TriangleAlert, X } from "lucide-react";
import { useEffect, useState, type FormEvent, type ReactNode } from "react";
import { stale } from "../api/cache";
import { newKey } from "../api/client";
import { useLiveness } from "../api/live";
import type { BatchProgress } from "../api/types";
import { Button, Failed, Segment, Skeleton } from "../components";
import { toast } from "../components/toast";
import { watchBatch } from "../runs/Batches";
import { Link } from "../shell/router";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import { Rich } from "../words/rich";
import type { LetterCause, Redrive } from "./causes";

/** So many are tried before the rest, where there are more; more failures than these of the last 100 stop it. */
const FIRST = 100;
const MOST_FAILED = 5;
const SPEEDS = ["10", "40", "100"] as const;
type Speed = (typeof SPEEDS)[number];

const isBatch = (answer: unknown): answer is BatchProgress => typeof answer === "object" && answer !== null && "looked" in answer;

export function Bulk({ cause, tried, keptDays, onClose }: { cause: LetterCause; tried: boolean; keptDays: number; onClose: () => void }): ReactNode {
  const { t, f } = useWords();
  const l = t.letters;
  const { me } = useSession();
  const offline = useLiveness() === "offline";
  const [dry, setDry] = useState<Redrive | null>(null);
  const [failed, setFailed] = useState<unknown>(null);
  const [again, setAgain] = useState(0);
  const [typed, setTyped] = useState("");
  const [careful, setCareful] = useState(true);
  const [speed, setSpeed] = useState<Speed>("40");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const [key] = useState(newKey);
  const allowed = may(me, cause.permission);
  useEffect(() => {
    if (!allowed) return;
    let shown = true;
    setFailed(null);
    cause.dryRun().then((got) => shown && setDry(got), (problem: unknown) => shown && setFailed(problem));
    return () => { shown = false; };
  }, [cause.id, cause.count, again, allowed]);
  const refused = dry?.refused.reduce((sum, { count }) => sum + count, 0) ?? 0;
  // where there are more than were looked at, the filter takes all of them
  const going = !dry ? 0 : dry.more ? cause.count - refused : dry.count;
  const few = cause.batched && going > FIRST;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const answer = await cause.all(key, { per_second: Number(speed), first: few && careful ? FIRST : null, most_failed: MOST_FAILED });
      if (isBatch(answer)) watchBatch(answer);
      else toast(l.allSent);
      stale("/dead-letters", "/runs", "/home");
      onClose();
    } catch (problem) {
      setError(errorText(problem, t));
      setBusy(false);
    }
  };
  return (
    <aside className="card bulk" aria-label={l.bulk(f.number(cause.count))}>
      <header><p className="dim">{l.picked} · <code className="ink-failed">{cause.code}</code></p><h2>{l.bulk(f.number(cause.count))}</h2><Button look="icon" className="bulk-close" aria-label={t.nav.close} onClick={onClose}><X size={16} aria-hidden /></Button></header>
      {!allowed ? <p className="bulk-part">{t.error.forbidden(cause.permission)}</p> : (
        <form onSubmit={(event) => void submit(event)}>
          <ol className="bulk-steps"><Step n={1} text={l.steps.sample} about={l.stepSample} done /><Step n={2} text={l.steps.one} about={tried ? l.stepDone : l.stepOne} done={tried} /><Step n={3} text={l.steps.all} about={tried ? l.stepReady : l.stepLocked} done={false} here={tried} /></ol>
          {!cause.curable && <p className="bulk-part bulk-warn"><TriangleAlert size={16} aria-hidden /><span>{l.warn}{cause.mend && <> <Link to={cause.mend}><FileBraces size={13} aria-hidden /> {l.mend}</Link></>}</span></p>}
          <div className="bulk-part">
            {failed ? <Failed error={failed} retry={() => setAgain(again + 1)} /> : !dry ? <Skeleton h={22} n={3} /> : (
              <>
                <p className="bulk-said" role="status"><Rich text={l.dry(f.number(going + refused), f.number(going), f.number(refused))} /></p>
                <span className="bulk-bar" aria-hidden><i style={{ flexGrow: going }} /><i className="bulk-refused" style={{ flexGrow: refused }} /></span>
                {dry.more && <p className="dim">{t.runs.batch.more(f.number(dry.count + refused))}</p>}
                {refused > 0 && <><h3>{l.refusedWhy(f.number(refused))}</h3><ul className="bulk-reasons">{dry.refused.map((each) => <Reason key={each.why} {...each} />)}</ul></>}
                <dl className="bulk-where"><dt>{l.where}</dt><dd>{cause.where.map(({ text }) => text).join(" · ")}</dd></dl>
              </>
            )}
          </div>
          {cause.batched && dry && going > 0 && (
            <dl className="bulk-part bulk-care">
              <dt>{l.speed}</dt><dd><Segment label={l.speed} value={speed} onChange={setSpeed} options={SPEEDS.map((each) => ({ id: each, text: l.perSecond(each) }))} /></dd>
              <dt>{l.takes}</dt><dd><Rich text={l.about_(f.duration(Math.max(1, Math.ceil(going / Number(speed))) * 1000))} /></dd>
              <dt>{l.selfStop}</dt><dd><Rich text={l.selfStopAt(MOST_FAILED)} /></dd>
              {few && <><dt>{l.careful}</dt><dd><label className="bulk-any"><input type="checkbox" checked={careful} onChange={(event) => setCareful(event.target.checked)} />{l.firstFew(f.number(FIRST))}</label></dd></>}
              <dt>{l.kept}</dt><dd>{l.keptUntil(f.day(Date.parse(cause.firstAt) + keptDays * 86_400_000))}</dd>
            </dl>
          )}
          <p className="bulk-part bulk-safe"><ShieldCheck size={16} aria-hidden />{l.safe}</p>
          <div className="bulk-part bulk-foot">
            {dry && going > 0 && <label><span className="label">{t.run.typed(String(going))}</span><input className="input" value={typed} inputMode="numeric" autoComplete="off" disabled={!tried} onChange={(event) => setTyped(event.target.value)} /></label>}
            {error && <p className="bad" role="alert">{error}</p>}
            <div className="dialog-foot"><Button autoFocus onClick={onClose}>{t.common.cancel}</Button>{dry && going > 0 && <Button type="submit" look="primary" icon={ListRestart} disabled={busy || offline || !tried || typed.trim() !== String(going)}>{l.doAll(f.number(going))}</Button>}</div>
            <p className="dim">{l.final}</p>
          </div>
        </form>
      )}
    </aside>
  );
}

/** Why some are refused; opened, which they are. */
function Reason({ why, count, runs }: Redrive["refused"][number]): ReactNode {
  const { t, f } = useWords();
  if (runs.length === 0) return <li><b className="num">{f.number(count)}</b>{why}</li>;
  return (
    <li>
      <b className="num">{f.number(count)}</b>
      <details><summary>{why}</summary><ul>{runs.slice(0, 100).map((run) => <li key={run}><Link to={`/runs/${run}`} className="mono">{run.slice(0, 13)}</Link></li>)}{runs.length > 100 && <li className="dim">{t.runs.batch.andOthers(f.number(runs.length - 100))}</li>}</ul></details>
    </li>
  );
}

function Step({ n, text, about, done, here = false }: { n: number; text: string; about: string; done: boolean; here?: boolean }): ReactNode {
  return <li className={here ? "step-here" : ""}><span><i className={done ? "step-done" : ""}>{done ? <Check size={12} strokeWidth={3} aria-hidden /> : n}</i><b>{text}</b></span><span className="dim">{about}</span></li>;
}
