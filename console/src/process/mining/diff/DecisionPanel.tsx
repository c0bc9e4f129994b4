/** The decision in its order: what fits, what it saves, who must approve, what runs now, and then yes or no. */
import { Check, CircleX, Clock3, History, Lock, Route, UserRoundCheck, X } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useLiveness } from "../../../api/live";
import { Badge, Button, Face } from "../../../components";
import { anchorOf, type Anchor } from "../../../components/Dialog";
import { Link } from "../../../shell/router";
import { may, useSession } from "../../../shell/session";
import { Rich } from "../../../words/rich";
import { MINING_PAGE } from "../requests";
import { changeText, deviationTitle, percentOf, useMiningWords } from "../speech";
import type { ModelDiff } from "../types";
import { ApproveModel, RejectModel } from "./Decide";
import { MoveDialog, MoveProgress, useMoving } from "./MoveRuns";

export const nextVersion = (diff: ModelDiff): number => diff.base_version + 1;

export function DecisionPanel({ diff }: { diff: ModelDiff }): ReactNode {
  const { m } = useMiningWords();
  const [asked, setAsked] = useState<"approve" | "reject" | "move" | "dry" | null>(null);
  const [anchor, setAnchor] = useState<Anchor | null>(null);
  const [offer, setOffer] = useState(false);
  const [approved, setApproved] = useState<number | null>(null);
  const moving = useMoving(diff.id);
  const isPending = diff.approval_status === "pending" && approved === null;
  const next = approved ?? nextVersion(diff);
  const begin = (version: number) => void moving.begin(diff.base_version, version);
  return (
    <aside className="mine-decision" aria-label={m.diff.replayed}>
      <Fits diff={diff} />
      <Saved diff={diff} />
      <Approvers diff={diff} />
      <Running diff={diff} pending={isPending} offer={offer} onOffer={setOffer} onDry={() => setAsked("dry")} />
      {moving.batch && <MoveProgress moving={moving} />}
      {isPending ? <Buttons diff={diff} onApprove={() => setAsked("approve")} onReject={(event) => { setAnchor(event); setAsked("reject"); }} /> : diff.approval_status !== "rejected" && diff.running.can_move > 0 && !moving.batch && <MoveOffer diff={diff} onMove={() => setAsked("move")} />}
      {asked === "approve" && <ApproveModel diff={diff} moves={offer ? diff.running.can_move : 0} onClose={() => setAsked(null)} onDone={(version) => { setAsked(null); setApproved(version); if (offer) begin(version); }} />}
      {asked === "reject" && <RejectModel diff={diff} anchor={anchor} onClose={() => setAsked(null)} />}
      {asked === "dry" && <MoveDialog diff={diff} version={null} onClose={() => setAsked(null)} onMove={() => undefined} />}
      {asked === "move" && <MoveDialog diff={diff} version={next} onClose={() => setAsked(null)} onMove={() => { setAsked(null); begin(next); }} />}
    </aside>
  );
}

function Fits({ diff }: { diff: ModelDiff }): ReactNode {
  const { m, f } = useMiningWords();
  const d = m.diff;
  const { cases, base_fit: base, model_fit: model, still } = diff.replay;
  const share = (fit: number) => (cases > 0 ? fit / cases : 1);
  return (
    <section>
      <h2><History size={16} aria-hidden />{d.replayed}</h2>
      <p className="mine-verdict">{d.fit(f.number(cases), f.number(model))}</p>
      <dl className="mine-compare">
        {([[diff.base_version, base, "mine-base-bar"], [nextVersion(diff), model, "mine-model-bar"]] as const).map(([version, fit, bar]) => <div key={version}><dt>v{version}</dt><dd><i className="mine-track" aria-hidden><i className={bar} style={{ width: `${100 * share(fit)}%` }} /></i><span className="dim">{f.number(fit)}</span><b>{percentOf(share(fit), f)}</b></dd></div>)}
      </dl>
      <p className="mine-still">{model >= cases ? d.allFit : <><Rich text={d.stillNot(f.number(cases - model))} /> {still.map((deviation) => deviationTitle(deviation, m)).join(", ")}.{still.some(({ rule }) => rule) && d.rule} <Link to={`${MINING_PAGE}/${encodeURIComponent(diff.id)}`}>{d.seeRuns}</Link></>}</p>
    </section>
  );
}

function Saved({ diff }: { diff: ModelDiff }): ReactNode {
  const { m, f } = useMiningWords();
  const d = m.diff;
  const saving = diff.changes.filter(({ saved_ms_per_week: saved }) => (saved ?? 0) > 0);
  const sum = diff.saved_ms_per_week ?? saving.reduce((all, { saved_ms_per_week: saved }) => all + (saved ?? 0), 0);
  return (
    <section>
      {saving.length === 0 ? <><h2><Clock3 size={16} aria-hidden />{d.savedNone}</h2><p className="dim small">{d.savedNoneText}</p></> : (
        <>
          <p className="mine-saved"><Rich text={d.saved(f.duration(sum))} /></p>
          <p className="mine-parts" aria-hidden>{saving.map(({ kind, saved_ms_per_week: saved }, i) => <i key={i} className={`mine-part-${kind}`} style={{ flexGrow: saved ?? 0 }} />)}</p>
          <dl className="mine-sums">{saving.map((change, i) => <div key={i}><dt>{changeText(change, m).title}</dt><dd>{f.duration(change.saved_ms_per_week ?? 0)}</dd></div>)}</dl>
        </>
      )}
    </section>
  );
}

function Approvers({ diff }: { diff: ModelDiff }): ReactNode {
  const { m } = useMiningWords();
  const { me } = useSession();
  const d = m.diff;
  const { permission, mine, needs_two: two, by_author: author } = diff.approvers;
  const mayApprove = mine && !(two && author);
  return (
    <section>
      <h2><UserRoundCheck size={16} aria-hidden />{d.who}</h2>
      <p className="mine-approver"><Face name={me.name} size={24} /><b>{d.you}</b><span className="dim grow cut">{me.name}</span>{diff.approval_status !== "pending" ? null : mayApprove ? <Badge tone="held">{d.pending}</Badge> : <Badge tone="idle" icon={Lock}>{d.haveNot}</Badge>}</p>
      <p className="small"><span className="dim">{d.permission}</span> <code>{permission}</code>: {mine ? <span className="ink-done">{d.have}</span> : <span className="ink-held">{d.haveNot}</span>}</p>
      {two && <p className="small dim">{d.needsTwo}{author && ` ${d.byAuthor}`}</p>}
    </section>
  );
}

interface RunningProps {
  diff: ModelDiff;
  pending: boolean;
  offer: boolean;
  onOffer: (offer: boolean) => void;
  onDry: () => void;
}

function Running({ diff, pending, offer, onOffer, onDry }: RunningProps): ReactNode {
  const { m, f } = useMiningWords();
  const { me } = useSession();
  const d = m.diff;
  const { total, can_move: can, cannot, at } = diff.running;
  const not = cannot.reduce((sum, { count }) => sum + count, 0);
  return (
    <section>
      <h2><Route size={16} aria-hidden />{d.running(diff.base_version)} <span className="dim">{f.number(total)}</span></h2>
      {total === 0 ? <p className="dim small">{d.noRunning}</p> : (
        <>
          <p className="mine-parts" aria-hidden><i className="mine-can" style={{ flexGrow: can }} />{not > 0 && <i className="mine-cannot" style={{ flexGrow: not }} />}</p>
          <p className="mine-moves"><b>{d.canMove(f.number(can))}</b><span className="dim">{at.map(({ activity, count }) => d.at(activity, f.number(count))).join(" · ")}</span></p>
          {not > 0 && <ul className="mine-cannots">{cannot.map(({ reason, count }) => <li key={reason}><b className="ink-held">{d.cannot(f.number(count))}</b><span className="dim">{reason}</span></li>)}</ul>}
          {not > 0 && <p className="dim small">{d.stay}</p>}
          {pending && can > 0 && <p className="mine-offer"><label title={may(me, "run.edit") ? undefined : d.needs("run.edit")}><input type="checkbox" checked={offer} disabled={!may(me, "run.edit")} onChange={(event) => onOffer(event.target.checked)} />{d.offer(f.number(can))}</label><button type="button" className="linklike" onClick={onDry}>{d.dryRun}</button></p>}
        </>
      )}
    </section>
  );
}

function Buttons({ diff, onApprove, onReject }: { diff: ModelDiff; onApprove: () => void; onReject: (at: Anchor | null) => void }): ReactNode {
  const { m } = useMiningWords();
  const offline = useLiveness() === "offline";
  const d = m.diff;
  const { permission, mine, needs_two: two, by_author: author } = diff.approvers;
  const why = offline ? d.offline : !mine ? d.needs(permission) : two && author ? d.byAuthor : !diff.sound ? d.unsound : null;
  return (
    <footer className="mine-decide">
      <div><Button look="primary" icon={why ? Lock : Check} disabled={why !== null} title={why ?? undefined} onClick={onApprove}>{d.approve(nextVersion(diff))}</Button><Button look="danger" icon={X} disabled={offline || !mine} onClick={(event) => onReject(anchorOf(event.currentTarget))}>{d.reject}</Button></div>
      <p className="dim small">{why ?? d.final(nextVersion(diff))}</p>
    </footer>
  );
}

function MoveOffer({ diff, onMove }: { diff: ModelDiff; onMove: () => void }): ReactNode {
  const { m, f } = useMiningWords();
  const { me } = useSession();
  const allowed = may(me, "run.edit");
  return <footer className="mine-decide"><div><Button look="primary" icon={allowed ? Route : CircleX} disabled={!allowed} onClick={onMove}>{m.diff.moveNow(f.number(diff.running.can_move))}</Button></div><p className="dim small">{allowed ? m.diff.moveEffect : m.diff.needs("run.edit")}</p></footer>;
}
