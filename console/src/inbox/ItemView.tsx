/** One item: what it is, how long is left, what it rests on, what yes and no do, and the two buttons. */
import { itemPath } from "./path";
import { AlarmClock, Check, ChevronLeft, CircleCheck, CircleX, CloudCheck, Ellipsis, Lock, Send, TriangleAlert, UserPlus, Waypoints, WifiOff, X } from "lucide-react";
import { useRef, useState, type ReactNode } from "react";
import { put, stale, useGet } from "../api/cache";
import { post } from "../api/client";
import { useLiveness } from "../api/live";
import type { Dict, Graph, Item, Verb } from "../api/types";
import { Button, Face, Skeleton } from "../parts";
import { anchorOf, Dialog, type Anchor } from "../parts/Dialog";
import { toast } from "../parts/toast";
import { errorText } from "../run/moves";
import { useKeys } from "../shell/keys";
import { go, Link } from "../shell/router";
import { useSession } from "../shell/session";
import { LiveChip } from "../shell/Topbar";
import { useNow, useWords } from "../words";
import { Rich } from "../words/rich";
import { people, person } from "../words/why";
import { closedBy } from "./closed";
import { Confirm } from "./Confirm";
import { useDecision } from "./decide";
import { useDraft, type Pending } from "./drafts";
import { dueText } from "./due";
import { Evidence, Fields } from "./Evidence";
import { checkAll, SchemaForm } from "./Form";
import { itemIcon } from "./icon";
import { Steps } from "./Steps";

interface Props {
  item: Item;
  place: { n: number; of: number } | null;
  phone: boolean;
  onNext: () => void;
}

const VERDICTS = ["normal", "warning", "critical", "unknown"];

export function ItemView({ item, place, phone, onNext }: Props): ReactNode {
  const words = useWords();
  const { t, f } = words;
  const { me } = useSession();
  const now = useNow(1000);
  const live = useLiveness();
  const name = `${me.user}.${item.id}`;
  const { draft, set, saved, clear } = useDraft(name);
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [asking, setAsking] = useState<{ verb: Pending["verb"]; anchor: Anchor | null; verdict?: string } | null>(null);
  const foot = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const { data: graph, error: noGraph } = useGet<Graph>(`/runs/${encodeURIComponent(item.run)}/graph`);
  const done = (verb: Pending["verb"], again: boolean) => {
    clear();
    setAsking(null);
    toast(again ? t.inbox.resent : { approve: t.inbox.approved, reject: t.inbox.rejected, judge: t.inbox.judged, respond: t.inbox.sent }[verb]);
    onNext();
  };
  const decision = useDecision(name, item, done);
  const may = (verb: Verb) => item.moves.some((move) => move.verb === verb);
  const due = dueText(item.due_at, now, words);
  // without a form the text is the answer itself
  const answers = may("respond") && !may("approve") && !item.form;
  const offline = live === "offline";
  const blocked = offline || !item.eligible || decision.fate.kind === "sending" || decision.fate.kind === "taken" || !!decision.pending;
  const reason = offline ? t.inbox.offlineDisabled : undefined;

  const open = (verb: Pending["verb"], from: Element | null, verdict?: string) => {
    if (blocked) return;
    if (verb === "approve" || verb === "respond") {
      const found = checkAll(item.form, draft.form, t).errors;
      if (answers && !draft.comment.trim()) {
        setErrors({ "": t.inbox.fieldNeeded });
        body.current?.querySelector<HTMLElement>(".item-comment textarea")?.focus();
        return;
      }
      setErrors(found);
      const first = Object.keys(found)[0];
      if (first) {
        body.current?.querySelector<HTMLElement>(`[data-field="${CSS.escape(first)}"] :is(input, textarea, select)`)?.focus();
        return;
      }
    }
    setAsking({ verb, anchor: anchorOf(from), verdict });
  };
  const send = () => {
    if (!asking) return;
    const comment = draft.comment.trim() || null;
    const form: Dict = checkAll(item.form, draft.form, t).clean;
    const answer: Dict = asking.verb === "judge" ? { decision: asking.verdict ?? "unknown", comment } : asking.verb === "respond" ? { value: item.form ? form : draft.comment.trim(), comment: item.form ? comment : null } : { comment, ...(item.form ? { value: form } : {}) };
    setAsking(null);
    decision.decide(asking.verb, answer);
  };
  useKeys({
    a: () => may("approve") && open("approve", foot.current?.querySelector(".yes") ?? null),
    r: () => may("reject") && open("reject", foot.current?.querySelector(".no") ?? null),
  });
  const Icon = itemIcon(item);
  const effect = (verb: "approve" | "reject") => (item.effects[verb] ? t.inbox.effectNext(item.effects[verb]) : t.inbox.effectDefault[verb]);
  const approval = may("approve") || may("reject") || item.kind === "approval";
  const aside = (
    <div className="item-aside">
      {approval && (
        <section className={phone ? "card effects" : "effects"}>
          <h2>{t.inbox.whatHappens}</h2>
          <p><CircleCheck size={17} className="ink-done" aria-hidden /><span><b>{t.inbox.approve}</b>: <Rich text={effect("approve")} /></span></p>
          <p><CircleX size={17} className="ink-failed" aria-hidden /><span><b>{t.inbox.reject}</b>: <Rich text={effect("reject")} /></span></p>
        </section>
      )}
      {!phone && <WhyMe item={item} />}
      {!phone && <Talk item={item} />}
    </div>
  );
  return (
    <article className="item" aria-labelledby="item-title">
      {phone && (
        <header className="item-bar"><Link to="/inbox" className="btn btn-icon" aria-label={t.nav.back}><ChevronLeft size={22} aria-hidden /></Link><b>{t.nav.inbox}</b>{place && <span className="dim">{place.n} / {place.of}</span>}<span className="grow" /><LiveChip /><More item={item} /></header>
      )}
      <div className="item-scroll" ref={body}>
        <header className="item-head">
          <div className="grow">
            <p className="dim item-run"><Icon size={15} strokeWidth={1.9} aria-hidden />{item.run_title}{phone ? ` · ${t.inbox.openedAt(f.clock(item.opened_at))}` : <span className="mono">{item.run.slice(0, 9)}</span>}</p>
            <h1 id="item-title">{item.title}</h1>
          </div>
          {!phone && (
            <div className="item-due"><span className={`badge ${due.late ? "tone-failed" : due.near ? "tone-held" : "badge-quiet"}`}><AlarmClock size={14} aria-hidden />{due.text}</span>{item.due_at && item.due_then && <p className="dim">{t.inbox.afterDue[item.due_then.kind](f.when(item.due_at, now))}</p>}</div>
          )}
        </header>
        {phone && item.due_at && <p className={`item-left ${due.late ? "tone-failed" : due.near ? "tone-held" : "tone-idle"}`}><AlarmClock size={18} aria-hidden /><b className="grow">{due.text}</b><span>{f.when(item.due_at, now)}</span></p>}
        {!phone && (graph ? <Steps graph={graph} node={item.node} /> : !noGraph && <div className="steps-room" />)}
        <Notices item={item} decision={decision} offline={offline} phone={phone} onNext={onNext} />
        <div className="item-cols">
          <div className="item-main">
            {item.description && <p className="item-text">{item.description}</p>}
            <Fields fields={item.fields} />
            {graph || noGraph ? <Evidence item={item} variables={graph?.variables} phone={phone} /> : <Skeleton h={220} />}
            {phone && aside}
            {item.form && <SchemaForm schema={item.form} value={draft.form} errors={errors} disabled={!item.eligible} onChange={(form) => { setErrors({}); set({ ...draft, form }); }} />}
            {(item.eligible || draft.comment) && (
              <label className="item-comment">
                <span className="label">{answers ? t.inbox.answer : t.inbox.comment}{answers && <span className="star"> *</span>}{may("reject") && <span className="dim">{phone ? t.inbox.commentPhone : t.inbox.commentForReject}</span>}</span>
                <textarea className="input" rows={phone ? 1 : 2} value={draft.comment} readOnly={!item.eligible} placeholder={t.inbox.commentHint} onChange={(event) => { setErrors({}); set({ ...draft, comment: event.target.value }); }} />
                {errors[""] && <span className="bad" role="alert">{errors[""]}</span>}
                {saved && <span className="saved dim" role="status"><CloudCheck size={14} aria-hidden />{t.inbox.saved}</span>}
              </label>
            )}
            {phone && <WhyMe item={item} />}
            {phone && <Talk item={item} />}
          </div>
          {!phone && aside}
        </div>
      </div>
      <div className="item-foot" ref={foot}>
        {!phone && <Delegate item={item} disabled={blocked} />}
        {!phone && <Link className="btn btn-quiet" to={`/runs/${item.run}?node=${encodeURIComponent(item.node)}`}><Waypoints size={15} aria-hidden />{t.inbox.seeRun}</Link>}
        {!phone && <span className="grow" />}
        {!phone && item.eligible && <span className="dim small">{offline ? t.inbox.offlineDisabled : t.inbox.final}</span>}
        {may("reject") && <Button look="danger" className="no" icon={X} hint={phone ? undefined : "R"} disabled={blocked} title={reason} onClick={(event) => open("reject", event.currentTarget)}>{t.inbox.reject}</Button>}
        {may("approve") && <Button look="primary" className="yes" icon={Check} hint={phone ? undefined : "A"} disabled={blocked} title={reason} onClick={(event) => open("approve", event.currentTarget)}>{t.inbox.approve}</Button>}
        {may("judge") && VERDICTS.map((verdict) => <Button key={verdict} look={verdict === "critical" ? "danger" : "plain"} disabled={blocked} title={reason} onClick={(event) => open("judge", event.currentTarget, verdict)}>{t.inbox.verdicts[verdict]}</Button>)}
        {may("respond") && !may("approve") && <Button look="primary" className="yes" icon={Send} disabled={blocked} title={reason} onClick={(event) => open("respond", event.currentTarget)}>{t.inbox.submit}</Button>}
        {!item.eligible && <span className="item-locked"><Lock size={15} aria-hidden />{because(item, t)}</span>}
      </div>
      {asking && (
        <Confirm
          title={asking.verb === "approve" ? t.inbox.approveAsk(item.title) : asking.verb === "reject" ? t.inbox.rejectAsk(item.title) : asking.verb === "judge" ? t.inbox.judgeAsk(t.inbox.verdicts[asking.verdict ?? ""] ?? "") : t.inbox.submitAsk}
          effect={asking.verb === "approve" || asking.verb === "reject" ? effect(asking.verb) : item.run_title}
          verb={asking.verb === "approve" ? t.inbox.approve : asking.verb === "reject" ? t.inbox.reject : asking.verb === "judge" ? (t.inbox.verdicts[asking.verdict ?? ""] ?? t.inbox.judge) : t.inbox.submit}
          danger={asking.verb === "reject"} anchor={asking.anchor} comment={draft.comment} needsComment={asking.verb === "reject"} busy={decision.fate.kind === "sending"} offline={offline}
          onComment={(comment) => set({ ...draft, comment })} onClose={() => setAsking(null)} onYes={send} />
      )}
    </article>
  );
}

function because(item: Item, t: ReturnType<typeof useWords>["t"]): string {
  if (item.not_eligible_because === "voted") return t.inbox.because.voted;
  if (item.not_eligible_because === "permission") return t.inbox.because.permission;
  if (item.not_eligible_because === "target") return t.inbox.because.target(people(item.candidates, t));
  return item.not_eligible_because ?? t.inbox.notEligible;
}

/** What stands between me and a decision: it was taken, it got lost on its way, it was refused, I am offline. */
function Notices({ item, decision, offline, phone, onNext }: { item: Item; decision: ReturnType<typeof useDecision>; offline: boolean; phone: boolean; onNext: () => void }): ReactNode {
  const words = useWords();
  const { t } = words;
  const { fate, pending } = decision;
  return (
    <>
      {fate.kind === "taken" && (
        <div className="notice tone-held" role="alert">
          <TriangleAlert size={18} aria-hidden />
          <div className="grow"><b>{closedBy(fate.problem, words) ?? t.inbox.taken}</b><p>{t.inbox.takenText}</p></div>
          <Button onClick={() => { decision.reset(); stale(`/inbox/${item.run}`); }}>{t.common.retry}</Button><Button onClick={onNext}>{t.inbox.takenNext}</Button>
        </div>
      )}
      {fate.kind === "refused" && <div className="notice tone-failed" role="alert"><TriangleAlert size={18} aria-hidden /><div className="grow"><b>{fate.problem.detail || fate.problem.title}</b><p>{fate.problem.hint} <code>{fate.problem.code}</code></p></div></div>}
      {pending && (
        <div className="notice tone-held" role="alert">
          <WifiOff size={18} aria-hidden />
          <div className="grow"><b>{t.inbox.lost}</b><p>{t.inbox.lostText}</p></div>
          <Button onClick={decision.discard}>{t.inbox.discard}</Button><Button look="primary" icon={Send} disabled={offline} onClick={decision.resend}>{t.inbox.resend}</Button>
        </div>
      )}
      {phone && offline && item.eligible && !pending && <p className="notice tone-held" role="status"><WifiOff size={18} aria-hidden /><b>{t.inbox.offlineDisabled}</b></p>}
      {item.escalation_level > 0 && <p className="notice tone-held"><TriangleAlert size={18} aria-hidden /><b>{t.inbox.escalated}</b></p>}
    </>
  );
}

function WhyMe({ item }: { item: Item }): ReactNode {
  const { t, f } = useWords();
  const asked = item.why_me.length ? item.why_me : item.candidates;
  return (
    <section>
      <h2>{t.inbox.whyMe}</h2>
      <p className="dim"><Rich text={asked.length ? t.inbox.role(people(asked, t), item.needed, item.needed) : `${t.inbox.anybody} · ${t.inbox.neededN(item.needed)}`} /></p>
      {item.approvals.map((one) => <p key={one.by + one.at} className="vote"><Face name={person(one.by, t)} size={22} />{(/reject/i.test(one.decision) ? t.inbox.rejectedBy : t.inbox.approvedBy)(person(one.by, t), f.clock(one.at))}</p>)}
      {item.claimed_by && <p className="vote"><Face name={person(item.claimed_by, t)} size={22} />{t.inbox.claimedBy(person(item.claimed_by, t))}</p>}
    </section>
  );
}

function Talk({ item }: { item: Item }): ReactNode {
  const { t, f } = useWords();
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const path = itemPath(item);
  const send = async () => {
    if (!text.trim()) return;
    setBusy(true);
    try {
      put(path, await post<Item>(`${path}/comment`, { text: text.trim() }));
      setText("");
    } catch (error) {
      toast(errorText(error, t), { bad: true });
    }
    setBusy(false);
  };
  return (
    <section className="talk">
      <h2>{t.inbox.talk}</h2>
      {item.comments.map((one) => <p key={one.at + one.by}><b>{person(one.by, t)}</b> <time className="dim" dateTime={one.at}>{f.clock(one.at)}</time><br />{one.text}</p>)}
      <form onSubmit={(event) => { event.preventDefault(); void send(); }}>
        <input className="input" value={text} aria-label={t.inbox.leaveComment} placeholder={t.inbox.leaveComment} onChange={(event) => setText(event.target.value)} />
        {text && <Button type="submit" look="icon" aria-label={t.common.send} disabled={busy}><Send size={16} aria-hidden /></Button>}
      </form>
    </section>
  );
}

function Delegate({ item, disabled }: { item: Item; disabled: boolean }): ReactNode {
  const { t } = useWords();
  const { users, me } = useSession();
  const [at, setAt] = useState<Anchor | null>(null);
  const others = users.filter((user) => user.id !== me.user);
  if (!item.eligible || others.length === 0) return null;
  const give = async (to: string) => {
    setAt(null);
    try {
      await post(`${itemPath(item)}/delegate`, { to: `user:${to}` });
      stale("/inbox");
      toast(t.inbox.delegated);
    } catch (error) {
      toast(errorText(error, t), { bad: true });
    }
  };
  return (
    <>
      <Button look="quiet" icon={UserPlus} disabled={disabled} aria-haspopup="dialog" onClick={(event) => setAt(anchorOf(event.currentTarget))}>{t.inbox.delegate}</Button>
      {at && <Dialog label={t.inbox.delegateTo} look="popover" anchor={at} onClose={() => setAt(null)}><h2>{t.inbox.delegateTo}</h2><ul className="menu menu-users">{others.map((user) => <li key={user.id}><button type="button" onClick={() => void give(user.id)}><Face name={user.name} size={22} /><span className="grow">{user.name} <span className="dim">{people(user.roles.slice(0, 2), t)}</span></span></button></li>)}</ul></Dialog>}
    </>
  );
}

function More({ item }: { item: Item }): ReactNode {
  const { t } = useWords();
  return <button type="button" className="btn btn-icon" aria-label={t.inbox.seeRun} onClick={() => go(`/runs/${item.run}?node=${encodeURIComponent(item.node)}`)}><Ellipsis size={20} aria-hidden /></button>;
}

export function ItemSkeleton(): ReactNode {
  return <div className="pad"><Skeleton h={26} w="60%" /><Skeleton h={70} n={3} /></div>;
}
