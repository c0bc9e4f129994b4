/** All of a cause at once: a sample, one, then all, with a dry run, its refusals and a typed count. */
import { Check, FileBraces, ListRestart, ShieldCheck, TriangleAlert, X } from "lucide-react";
import { useEffect, useState, type FormEvent, type ReactNode } from "react";
import { stale } from "../api/cache";
import { newKey } from "../api/client";
import { useLiveness } from "../api/live";
import type { BatchProgress } from "../api/types";
import { Button, Failed, Skeleton } from "../components";
import { toast } from "../components/toast";
import { watchBatch } from "../runs/Batches";
import { Link } from "../shell/router";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import { Rich } from "../words/rich";
import type { LetterCause, Redrive } from "./causes";

const isBatch = (answer: unknown): answer is BatchProgress => typeof answer === "object" && answer !== null && "looked" in answer;

export function Bulk({ cause, tried, onClose }: { cause: LetterCause; tried: boolean; onClose: () => void }): ReactNode {
  const { t, f } = useWords();
  const l = t.letters;
  const { me } = useSession();
  const offline = useLiveness() === "offline";
  const [dry, setDry] = useState<Redrive | null>(null);
  const [failed, setFailed] = useState<unknown>(null);
  const [again, setAgain] = useState(0);
  const [typed, setTyped] = useState("");
  const [anyway, setAnyway] = useState(false);
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
  }, [cause.id, again, allowed]);
  const refused = dry?.refused.reduce((sum, { count }) => sum + count, 0) ?? 0;
  const unlocked = tried || anyway;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const answer = await cause.all(key);
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
          <ol className="bulk-steps"><Step n={1} text={l.steps.sample} about={l.stepSample} done /><Step n={2} text={l.steps.one} about={tried ? l.stepDone : l.stepOne} done={tried} /><Step n={3} text={l.steps.all} about={unlocked ? l.stepReady : l.stepLocked} done={false} here={unlocked} /></ol>
          {!cause.curable && <p className="bulk-part bulk-warn"><TriangleAlert size={16} aria-hidden /><span>{l.warn}{cause.mend && <> <Link to={cause.mend}><FileBraces size={13} aria-hidden /> {l.mend}</Link></>}</span></p>}
          <div className="bulk-part">
            {failed ? <Failed error={failed} retry={() => setAgain(again + 1)} /> : !dry ? <Skeleton h={22} n={3} /> : (
              <>
                <p className="bulk-said" role="status"><Rich text={l.dry(f.number(dry.count + refused), f.number(dry.count), f.number(refused))} /></p>
                <span className="bulk-bar" aria-hidden><i style={{ flexGrow: dry.count }} /><i className="bulk-refused" style={{ flexGrow: refused }} /></span>
                {dry.more && <p className="dim">{t.runs.batch.more(f.number(dry.count + refused))}</p>}
                {refused > 0 && <><h3>{l.refusedWhy(f.number(refused))}</h3><ul className="bulk-reasons">{dry.refused.map(({ why, count }) => <li key={why}><b className="num">{f.number(count)}</b>{why}</li>)}</ul></>}
              </>
            )}
          </div>
          <p className="bulk-part bulk-safe"><ShieldCheck size={16} aria-hidden />{l.safe}</p>
          <div className="bulk-part bulk-foot">
            {!tried && <label className="bulk-any"><input type="checkbox" checked={anyway} onChange={(event) => setAnyway(event.target.checked)} />{l.anyway}</label>}
            {dry && dry.count > 0 && <label><span className="label">{t.run.typed(String(dry.count))}</span><input className="input" value={typed} inputMode="numeric" autoComplete="off" disabled={!unlocked} onChange={(event) => setTyped(event.target.value)} /></label>}
            {error && <p className="bad" role="alert">{error}</p>}
            <div className="dialog-foot"><Button onClick={onClose}>{t.common.cancel}</Button>{dry && dry.count > 0 && <Button type="submit" look="primary" icon={ListRestart} disabled={busy || offline || !unlocked || typed.trim() !== String(dry.count)}>{l.doAll(f.number(dry.count))}</Button>}</div>
            <p className="dim">{l.final}</p>
          </div>
        </form>
      )}
    </aside>
  );
}

function Step({ n, text, about, done, here = false }: { n: number; text: string; about: string; done: boolean; here?: boolean }): ReactNode {
  return <li className={here ? "step-here" : ""}><span><i className={done ? "step-done" : ""}>{done ? <Check size={12} strokeWidth={3} aria-hidden /> : n}</i><b>{text}</b></span><span className="dim">{about}</span></li>;
}
