/** One item: its title and due time, the evidence, what each decision does, and the buttons to decide. */
import { AlarmClock, Check, ChevronLeft, CircleCheck, CircleX, CloudCheck, HardDrive, Lock, Send, Waypoints, X } from "lucide-react";
import { useRef, useState, type ReactNode } from "react";
import { useGet } from "../api/cache";
import { useLiveness } from "../api/live";
import type { Dict, Graph, Item, Verb } from "../api/types";
import { Button, Skeleton } from "../components";
import { anchorOf, type Anchor } from "../components/Dialog";
import { toast } from "../components/toast";
import type { ItemViewProps } from "../languages/contract";
import { useKeys } from "../shell/keys";
import { Link } from "../shell/router";
import { useSession } from "../shell/session";
import { LiveChip } from "../shell/Topbar";
import { useNow, useWords } from "../words";
import { Rich } from "../words/rich";
import { people, person } from "../words/why";
import { checkAll } from "./validation";
import { Confirm } from "./Confirm";
import { useDecision } from "./decision";
import { useDraft, type Drafting, type Pending } from "./drafts";
import { dueText } from "./dueText";
import { DecisiveFields, Evidence } from "./Evidence";
import { SchemaForm } from "./SchemaForm";
import { itemIcon } from "./itemIcon";
import { usePresence } from "./presence";
import { Notices } from "./Notices";
import { Delegate, ItemMenu } from "./Delegation";
import { Steps } from "./Steps";
import { Conversation, WhyMe } from "./Conversation";

/** Reasons why I may not decide an item that is still open; others who look at it are shown. */
const OPEN_TO_READ = new Set<string>(["voted", "permission", "target", "four_eyes", "claimed"]);
const VERDICTS = ["normal", "warning", "critical", "unknown"];

export function ItemView({ item, place, phone, onNext }: ItemViewProps): ReactNode {
  const words = useWords();
  const { t, f } = words;
  const { me } = useSession();
  const now = useNow(1000);
  const live = useLiveness();
  const name = `${me.user}.${item.id}`;
  const drafting = useDraft(name, item.id);
  const { draft, set, clear } = drafting;
  const others = usePresence(item, !item.not_eligible_because || OPEN_TO_READ.has(item.not_eligible_because));
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [asking, setAsking] = useState<{ verb: Pending["verb"]; anchor: Anchor | null; seen: Item; verdict?: string } | null>(null);
  const foot = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const { data: graph, error: noGraph } = useGet<Graph>(`/runs/${encodeURIComponent(item.run)}/graph`);
  const done = (verb: Pending["verb"], again: boolean) => {
    clear();
    setAsking(null);
    toast(again ? t.inbox.resent : { approve: t.inbox.approved, reject: t.inbox.rejected, judge: t.inbox.judged, respond: t.inbox.sent, submit: t.work.submitted, rework: t.work.reworked, take_over: t.work.tookOver }[verb]);
    onNext();
  };
  const decision = useDecision(name, item, done);
  const may = (verb: Verb) => item.moves.some((move) => move.verb === verb);
  const due = dueText(item.due_at, now, words);
  // without a form the comment is the answer
  const answers = may("respond") && !may("approve") && !item.form;
  const offline = live === "offline";
  const blocked = offline || !item.eligible || decision.fate.kind === "sending" || decision.fate.kind === "taken" || decision.fate.kind === "changed" || !!decision.pending;
  const reason = offline ? t.inbox.offlineDisabled : undefined;

  const open = (verb: Pending["verb"], from: Element | null, verdict?: string) => {
    if (blocked) return;
    if (verb !== "judge") {
      const wrong = checkAll(item.form, draft.form, t.inbox).errors;
      if (answers && !draft.comment.trim()) {
        setErrors({ "": t.inbox.fieldNeeded });
        body.current?.querySelector<HTMLElement>(".item-comment textarea")?.focus();
        return;
      }
      setErrors(wrong);
      const first = Object.keys(wrong)[0];
      if (first) {
        body.current?.querySelector<HTMLElement>(`[data-field="${CSS.escape(first)}"] :is(input, textarea, select, button)`)?.focus();
        return;
      }
    }
    setAsking({ verb, anchor: anchorOf(from), seen: item, verdict });
  };
  const send = () => {
    if (!asking) return;
    const comment = draft.comment.trim() || null;
    const form: Dict = checkAll(item.form, draft.form, t.inbox).clean;
    const answer: Dict = asking.verb === "judge" ? { decision: asking.verdict ?? "unknown", comment } : asking.verb === "respond" ? { value: item.form ? form : draft.comment.trim(), comment: item.form ? comment : null } : { comment, ...(item.form ? { value: form } : {}) };
    setAsking(null);
    decision.decide(asking.verb, answer, asking.seen);
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
      {!phone && <WhyMe item={item} others={others} />}
      {!phone && <Conversation item={item} drafting={drafting} />}
    </div>
  );
  return (
    <article className="item" aria-labelledby="item-title">
      {phone && (
        <header className="item-bar"><Link to="/inbox" className="btn btn-icon" aria-label={t.nav.back}><ChevronLeft size={22} aria-hidden /></Link><b>{t.nav.inbox}</b>{place && <span className="dim">{place.n} / {place.of}</span>}<span className="grow" /><LiveChip /><ItemMenu item={item} disabled={blocked} phone /></header>
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
        {phone && item.due_at && <p className={`item-left ${due.late ? "tone-failed" : due.near ? "tone-held" : "tone-idle"}`}><AlarmClock size={18} aria-hidden /><b className="grow">{due.text}</b><span>{t.inbox.dueBy(f.when(item.due_at, now))}</span></p>}
        {!phone && (graph ? <Steps graph={graph} node={item.node} /> : !noGraph && <div className="steps-room" />)}
        <Notices item={item} decision={decision} drafting={drafting} offline={offline} phone={phone} onNext={onNext} />
        <div className="item-cols">
          <div className="item-main">
            {item.description && <p className="item-text">{item.description}</p>}
            <DecisiveFields fields={item.fields} />
            {graph || noGraph ? <Evidence item={item} variables={graph?.variables} phone={phone} /> : <Skeleton h={220} />}
            {phone && aside}
            {item.form && <SchemaForm schema={item.form} value={draft.form} errors={errors} disabled={!item.eligible} onChange={(form) => { setErrors({}); set({ ...draft, form }); }} />}
            {(item.eligible || draft.comment) && (
              <label className="item-comment">
                <span className="label">{answers ? t.inbox.answer : t.inbox.comment}{answers && <span className="star"> *</span>}{may("reject") && <span className="dim">{phone ? t.inbox.commentPhone : t.inbox.commentForReject}</span>}</span>
                <textarea className="input" rows={phone ? 1 : 2} value={draft.comment} readOnly={!item.eligible} placeholder={t.inbox.commentHint} onChange={(event) => { setErrors({}); set({ ...draft, comment: event.target.value }); }} />
                {errors[""] && <span className="bad" role="alert">{errors[""]}</span>}
                <Saved saved={drafting.saved} />
              </label>
            )}
            {phone && <WhyMe item={item} others={others} />}
            {phone && <Conversation item={item} drafting={drafting} />}
          </div>
          {!phone && aside}
        </div>
      </div>
      <div className="item-foot" ref={foot}>
        {!phone && <Delegate item={item} disabled={blocked} />}
        {!phone && <Link className="btn btn-quiet" to={`/runs/${item.run}?node=${encodeURIComponent(item.node)}`}><Waypoints size={15} aria-hidden />{t.inbox.seeRun}</Link>}
        {!phone && <ItemMenu item={item} disabled={blocked} phone={false} />}
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

export function because(item: Item, t: ReturnType<typeof useWords>["t"]): string {
  if (item.not_eligible_because === "voted") return t.inbox.because.voted;
  if (item.not_eligible_because === "permission") return t.inbox.because.permission;
  if (item.not_eligible_because === "four_eyes") return t.inbox.because.four_eyes;
  if (item.not_eligible_because === "claimed") return t.inbox.because.claimed(person(item.claimed_by ?? "", t));
  if (item.not_eligible_because === "target") return t.inbox.because.target(people(item.candidates, t));
  return item.not_eligible_because ?? t.inbox.notEligible;
}

/** Whether the draft is saved on this device or on the server. */
export function Saved({ saved }: { saved: Drafting["saved"] }): ReactNode {
  const { t } = useWords();
  return (
    <span className="saved dim" role="status">
      {saved === "server" && <><CloudCheck size={14} aria-hidden />{t.inbox.saved}</>}
      {saved === "here" && <span title={t.inbox.savedAgain} className="saved-here"><HardDrive size={14} aria-hidden />{t.inbox.savedHere}</span>}
    </span>
  );
}

export function ItemSkeleton(): ReactNode {
  return <div className="pad"><Skeleton h={26} w="60%" /><Skeleton h={70} n={3} /></div>;
}
