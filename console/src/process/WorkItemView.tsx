/** A work item of a process: the instruction, its data and form, an agent's draft to edit and approve, or its work to take over. */
import "../inbox/inbox.css";
import "./workItem.css";
import { AlarmClock, Bot, Check, ChevronLeft, CircleAlert, Hand, Lock, Play, RotateCcw, Send, UserRound, Waypoints, X, type LucideIcon } from "lucide-react";
import { useMemo, useRef, useState, type ReactNode } from "react";
import { stale, useGet } from "../api/cache";
import { newKey, post } from "../api/client";
import { isDict } from "../api/json";
import { useLiveness } from "../api/live";
import type { Dict, Graph, Item, Json, AgentMode, Schema, WorkItem, WorkVerb } from "../api/types";
import { Badge, Button, Skeleton } from "../components";
import { anchorOf, Dialog, type Anchor } from "../components/Dialog";
import { toast } from "../components/toast";
import { itemTone } from "./itemTone";
import type { ItemViewProps } from "../languages/contract";
import { useKeys } from "../shell/keys";
import { Link } from "../shell/router";
import { useSession } from "../shell/session";
import { LiveChip } from "../shell/Topbar";
import { useNow, useWords } from "../words";
import { errorText } from "../words/errorText";
import { person } from "../words/why";
import { checkAll } from "../inbox/validation";
import { Confirm } from "../inbox/Confirm";
import { useDecision } from "../inbox/decision";
import { useDraft, type Pending } from "../inbox/drafts";
import { dueText } from "../inbox/dueText";
import { DecisiveFields, Evidence } from "../inbox/Evidence";
import { SchemaForm } from "../inbox/SchemaForm";
import { itemIcon } from "../inbox/itemIcon";
import { because, Saved } from "../inbox/ItemView";
import { usePresence } from "../inbox/presence";
import { Notices } from "../inbox/Notices";
import { workItemPath } from "./requests";
import { Delegate, ItemMenu } from "../inbox/Delegation";
import { Steps } from "../inbox/Steps";
import { Conversation, WhyMe } from "../inbox/Conversation";
import { StatusHistory, Transcript } from "./Transcript";

type ItemVerb = Extract<Pending["verb"], "submit" | "approve" | "reject" | "rework" | "take_over">;
const MODES: AgentMode[] = ["MANUAL", "SUPERVISED", "AUTONOMOUS"];
const PATHS: Record<ItemVerb, string> = { submit: "submit", approve: "approve", reject: "reject", rework: "rework", take_over: "take-over" };

export function WorkItemView({ item, place, phone, onNext }: ItemViewProps): ReactNode {
  const words = useWords();
  const { t, nodeWord } = words;
  const w = t.work;
  const { me } = useSession();
  const now = useNow(1000);
  const offline = useLiveness() === "offline";
  const work = item.work as NonNullable<Item["work"]>;
  const path = workItemPath(work.id);
  const workItem = useGet<WorkItem>(path).data;
  const name = `${me.user}.${item.id}`;
  const drafting = useDraft(name, item.id);
  const { draft, set, clear } = drafting;
  const others = usePresence(item, true);
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [asking, setAsking] = useState<{ verb: ItemVerb; anchor: Anchor | null; seen: Item; mark: string } | null>(null);
  const [chosen, setChoosing] = useState<Anchor | null | undefined>(undefined);
  const choosing = chosen !== undefined;
  const scroll = useRef<HTMLDivElement>(null);
  const foot = useRef<HTMLDivElement>(null);
  const { data: graph, error: noGraph } = useGet<Graph>(`/runs/${encodeURIComponent(item.run)}/graph`);
  const may = (verb: WorkVerb) => item.moves.some((move) => move.verb === verb);
  const done = (verb: Pending["verb"], again: boolean) => {
    setAsking(null);
    toast(again ? t.inbox.resent : { approve: t.inbox.approved, reject: t.inbox.rejected, submit: w.submitted, rework: w.reworked, take_over: w.tookOver, judge: "", respond: "" }[verb]);
    if (verb === "take_over") return; // it is mine now: what I do next is here
    clear();
    onNext();
  };
  const decision = useDecision(name, item, done);
  const blocked = offline || !item.eligible || !workItem || decision.fate.kind === "sending" || decision.fate.kind === "taken" || decision.fate.kind === "changed" || !!decision.pending;
  const reason = offline ? t.inbox.offlineDisabled : undefined;
  const drafted = item.status === "SUBMITTED" && isDict(workItem?.draft) ? workItem.draft : null;
  const schema = useMemo(() => schemaOf(item.form, drafted), [item.form, drafted]);
  const value = drafted ? { ...drafted, ...draft.form } : draft.form;
  const edited = drafted ? Object.keys(draft.form).filter((key) => JSON.stringify(draft.form[key] ?? null) !== JSON.stringify(drafted[key] ?? null)) : [];
  const fills = may("submit") || may("approve");
  const typedSome = Object.keys(draft.form).length > 0; // stays readable when somebody else was first
  const status = workItem?.status ?? item.status;
  const running = item.status === "IN_PROGRESS" && work.mode !== "MANUAL" && !work.error;

  /** What goes with a submit: the form, or JSON where the activity has none; null when something is wrong. */
  const filled = (): Dict | null => {
    if (schema) {
      const checked = checkAll(schema, value, t.inbox);
      setErrors(checked.errors);
      const first = Object.keys(checked.errors)[0];
      if (first) scroll.current?.querySelector<HTMLElement>(`[data-field="${CSS.escape(first)}"] :is(input, textarea, select, button)`)?.focus();
      return first ? null : checked.clean;
    }
    const free = draft.form[FREE];
    if (free === undefined || free === null || free === "") return {};
    if (isDict(free)) return free;
    setErrors({ [FREE]: t.inbox.badJson });
    return null;
  };
  const open = (verb: ItemVerb, from: Element | null) => {
    if (blocked) return;
    if ((verb === "submit" || verb === "approve") && filled() === null) return;
    setAsking({ verb, anchor: anchorOf(from), seen: item, mark: String(workItem?.version ?? 0) });
  };
  const send = () => {
    if (!asking) return;
    const comment = draft.comment.trim() || null;
    const given = filled() ?? {};
    const overrides = Object.fromEntries(edited.map((key) => [key, given[key] ?? null]));
    const body: Dict = asking.verb === "submit" ? { result_data: given } : asking.verb === "approve" ? { comment, ...(edited.length ? { result_overrides: overrides } : {}) } : { comment };
    setAsking(null);
    decision.decideAt(`${path}:${PATHS[asking.verb]}`, asking.verb, body, asking.seen, asking.mark);
  };
  const begin = async () => {
    try {
      await post(`${path}:start`, {}, newKey());
      stale("/inbox", path, `/runs/${item.run}`);
      toast(w.started);
    } catch (error) {
      toast(errorText(error, t), { bad: true });
    }
  };
  useKeys({
    a: () => (may("approve") || may("submit")) && open(may("approve") ? "approve" : "submit", foot.current?.querySelector(".yes") ?? null),
    r: () => may("reject") && open("reject", foot.current?.querySelector(".no") ?? null),
  });
  const Icon = itemIcon(item);
  const due = dueText(item.due_at, now, words);
  const aside = (
    <div className="item-aside">
      <section>
        <h2>{w.status}</h2>
        <dl className="work-facts">
          <div><dt>{w.status}</dt><dd><Badge tone={itemTone(status)}>{nodeWord(item.language, status, status)}</Badge></dd></div>
          <div><dt>{w.mode}</dt><dd>{w.modes[work.mode] ?? work.mode}</dd></div>
          {work.assignee && <div><dt>{w.assignee}</dt><dd>{work.assignee === "agent" ? w.byAgent : person(work.assignee, t)}</dd></div>}
          {workItem && workItem.visit > 1 && <div><dt>{w.activity}</dt><dd>{w.visit(workItem.visit)}</dd></div>}
        </dl>
      </section>
      <WhyMe item={item} others={others} />
      {workItem && workItem.history.length > 0 && <StatusHistory item={workItem} />}
      <Conversation item={item} drafting={drafting} />
    </div>
  );
  return (
    <article className="item" aria-labelledby="item-title">
      {phone && <header className="item-bar"><Link to="/inbox" className="btn btn-icon" aria-label={t.nav.back}><ChevronLeft size={22} aria-hidden /></Link><b>{t.nav.inbox}</b>{place && <span className="dim">{place.n} / {place.of}</span>}<span className="grow" /><LiveChip /><ItemMenu item={item} disabled={blocked} phone more={may("set_mode") ? [{ icon: UserRound, text: w.set_mode, act: setChoosing }] : []} /></header>}
      <div className="item-scroll" ref={scroll}>
        <header className="item-head">
          <div className="grow">
            <p className="dim item-run"><Icon size={15} strokeWidth={1.9} aria-hidden />{item.run_title}<span className="mono">{item.run.slice(0, 9)}</span></p>
            <h1 id="item-title">{item.title}</h1>
          </div>
          {item.due_at && <div className="item-due"><span className={`badge ${due.late ? "tone-failed" : due.near ? "tone-held" : "badge-quiet"}`}><AlarmClock size={14} aria-hidden />{due.text}</span></div>}
        </header>
        {!phone && (graph ? <Steps graph={graph} node={item.node} /> : !noGraph && <div className="steps-room" />)}
        <Notices item={item} decision={decision} drafting={drafting} offline={offline} phone={phone} onNext={onNext} />
        {running && <div className="notice tone-moving" role="status"><Bot size={18} aria-hidden /><b className="grow">{w.running}</b>{may("take_over") && <Button icon={Hand} disabled={blocked} onClick={(event) => open("take_over", event.currentTarget)}>{w.take_over}</Button>}</div>}
        {work.error && <div className="notice tone-failed" role="alert"><CircleAlert size={18} aria-hidden /><b className="grow">{w.error}: {work.error}</b></div>}
        <div className="item-cols">
          <div className="item-main">
            {item.description && <section><h2>{w.instruction}</h2><p className="item-text">{item.description}</p></section>}
            <DecisiveFields fields={item.fields} />
            {isDict(item.data) && Object.keys(item.data).length > 0 && <Evidence item={item} variables={undefined} phone={phone} />}
            {drafted && <div className="work-draft"><p><Bot size={16} aria-hidden /><b>{w.draft}</b></p><p className="dim">{may("approve") ? w.draftText : ""}</p></div>}
            {!workItem ? <Skeleton h={120} /> : schema && (fills || drafted || typedSome)
              ? <SchemaForm schema={schema} value={value} errors={errors} disabled={!fills} was={drafted ?? undefined} onChange={(form) => { setErrors({}); set({ ...draft, form: drafted ? changed(drafted, form) : form }); }} />
              : (may("submit") || typedSome) && <FreeResult disabled={!may("submit")} value={draft.form[FREE]} problem={errors[FREE]} onChange={(next) => { setErrors({}); set({ ...draft, form: next === "" ? {} : { [FREE]: next } }); }} />}
            {edited.length > 0 && <Button look="quiet" icon={RotateCcw} onClick={() => set({ ...draft, form: {} })}>{w.back}</Button>}
            {(may("approve") || may("reject") || draft.comment) && (
              <label className="item-comment">
                <span className="label">{t.inbox.comment}{may("reject") && <span className="dim">{phone ? t.inbox.commentPhone : t.inbox.commentForReject}</span>}</span>
                <textarea className="input" rows={phone ? 1 : 2} value={draft.comment} readOnly={!item.eligible} placeholder={t.inbox.commentHint} onChange={(event) => set({ ...draft, comment: event.target.value })} />
                <Saved saved={drafting.saved} />
              </label>
            )}
            {may("submit") && <p className="work-saved"><Saved saved={drafting.saved} /></p>}
            {workItem && (workItem.transcript.length > 0 || running) && <Transcript item={workItem} />}
            {phone && aside}
          </div>
          {!phone && aside}
        </div>
      </div>
      <div className="item-foot" ref={foot}>
        {!phone && may("delegate") && <Delegate item={item} disabled={blocked} />}
        {!phone && <Link className="btn btn-quiet" to={`/runs/${item.run}?node=${encodeURIComponent(item.node)}`}><Waypoints size={15} aria-hidden />{t.inbox.seeRun}</Link>}
        {!phone && may("set_mode") && <Button look="quiet" icon={UserRound} disabled={blocked} onClick={(event) => setChoosing(anchorOf(event.currentTarget))}>{w.set_mode}</Button>}
        {!phone && <span className="grow" />}
        {!phone && fills && !may("rework") && <span className="dim small">{offline ? t.inbox.offlineDisabled : t.inbox.final}</span>}
        {may("rework") && <Act icon={RotateCcw} disabled={blocked} title={reason} onClick={(from) => open("rework", from)}>{w.rework}</Act>}
        {may("reject") && <Button look="danger" className="no" icon={X} hint={phone ? undefined : "R"} disabled={blocked} title={reason} onClick={(event) => open("reject", event.currentTarget)}>{w.reject}</Button>}
        {may("start") && <Act icon={Play} disabled={blocked} title={reason} onClick={() => void begin()}>{w.start}</Act>}
        {may("take_over") && !running && <Act icon={Hand} disabled={blocked} title={reason} onClick={(from) => open("take_over", from)}>{w.take_over}</Act>}
        {may("submit") && <Button look="primary" className="yes" icon={Send} hint={phone ? undefined : "A"} disabled={blocked} title={reason} onClick={(event) => open("submit", event.currentTarget)}>{w.submit}</Button>}
        {may("approve") && <Button look="primary" className="yes" icon={Check} hint={phone ? undefined : "A"} disabled={blocked} title={reason} onClick={(event) => open("approve", event.currentTarget)}>{w.approve}</Button>}
        {!item.eligible && <span className="item-locked"><Lock size={15} aria-hidden />{because(item, t)}</span>}
      </div>
      {asking && (
        <Confirm title={{ submit: w.submitAsk(item.title), approve: t.inbox.approveAsk(item.title), reject: t.inbox.rejectAsk(item.title), rework: w.reworkAsk(item.title), take_over: w.takeAsk }[asking.verb]}
          effect={{ submit: w.submitText, approve: edited.length ? w.approveEdited(edited.length) : w.approveText, reject: w.rejectText, rework: w.reworkText, take_over: w.takeText }[asking.verb]}
          verb={w[asking.verb]} danger={asking.verb === "reject" || asking.verb === "rework"} anchor={asking.anchor} comment={draft.comment} needsComment={asking.verb === "reject" || asking.verb === "rework"} busy={decision.fate.kind === "sending"} offline={offline}
          onComment={(comment) => set({ ...draft, comment })} onClose={() => setAsking(null)} onYes={send} />
      )}
      {choosing && <Modes item={item} mode={work.mode as AgentMode} anchor={chosen} onClose={() => setChoosing(undefined)} />}
    </article>
  );
}

function Act({ icon, disabled, title, onClick, children }: { icon: LucideIcon; disabled: boolean; title: string | undefined; onClick: (from: Element) => void; children: ReactNode }): ReactNode {
  return <Button icon={icon} disabled={disabled} title={title} onClick={(event) => onClick(event.currentTarget)}>{children}</Button>;
}

/** Under which name a result without a form is kept while it is typed. */
const FREE = "·result";

/** Of an agent's draft without a form, a form with the same names. */
function schemaOf(form: Schema | null, draft: Dict | null): Schema | null {
  if (form?.properties && Object.keys(form.properties).length > 0) {
    const more = Object.keys(draft ?? {}).filter((key) => !form.properties?.[key]);
    return more.length ? { ...form, properties: { ...form.properties, ...Object.fromEntries(more.map((key) => [key, titled(key, (draft as Dict)[key])])) } } : form;
  }
  if (!draft) return null;
  return { type: "object", properties: Object.fromEntries(Object.entries(draft).map(([key, value]) => [key, titled(key, value)])) };
}

/** The names of a draft are a program's: people read words. */
const titled = (key: string, value: Json | undefined): Schema => ({ ...typed(value), title: key.replaceAll("_", " ") });
const typed = (value: Json | undefined): Schema => (typeof value === "boolean" ? { type: "boolean" } : typeof value === "number" ? { type: "number" } : typeof value === "string" ? { type: "string", maxLength: value.length > 80 ? 8000 : 120 } : {});

/** Only what differs from the draft is mine. */
function changed(draft: Dict, form: Dict): Dict {
  return Object.fromEntries(Object.entries(form).filter(([key, value]) => JSON.stringify(value ?? null) !== JSON.stringify(draft[key] ?? null)));
}

function FreeResult({ value, problem, disabled, onChange }: { value: Json | undefined; problem: string | undefined; disabled: boolean; onChange: (value: Json) => void }): ReactNode {
  const { t } = useWords();
  const [text, setText] = useState(() => (value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value, null, 2)));
  const change = (next: string) => {
    setText(next);
    try {
      onChange(next.trim() ? (JSON.parse(next) as Json) : "");
    } catch {
      onChange(next); // kept as it was typed
    }
  };
  return (
    <label>
      <span className="label">{t.work.resultJson}<span className="dim">{t.work.resultHint}</span></span>
      <textarea className="input mono" rows={3} value={text} placeholder="{ }" readOnly={disabled} aria-invalid={!!problem || undefined} onChange={(event) => change(event.target.value)} />
      {problem && <span className="bad" role="alert">{problem}</span>}
    </label>
  );
}

function Modes({ item, mode, anchor, onClose }: { item: Item; mode: AgentMode; anchor: Anchor | null; onClose: () => void }): ReactNode {
  const { t } = useWords();
  const [error, setError] = useState<string | null>(null);
  const [key] = useState(newKey);
  const set = async (next: AgentMode) => {
    try {
      await post(`${workItemPath(item.work?.id ?? "")}:set-mode`, { mode: next }, `${key}${next}`);
      stale("/inbox", workItemPath(item.work?.id ?? ""), `/runs/${item.run}`);
      toast(t.work.modeSet);
      onClose();
    } catch (problem) {
      setError(errorText(problem, t));
    }
  };
  return (
    <Dialog label={t.work.modeTitle} look="popover" anchor={anchor} onClose={onClose}>
      <h2>{t.work.modeTitle}</h2>
      <p className="dim">{t.work.modeText}</p>
      <ul className="menu">{MODES.map((choice) => <li key={choice}><button type="button" aria-current={choice === mode ? "true" : undefined} disabled={choice === mode} onClick={() => void set(choice)}>{choice === "MANUAL" ? <UserRound size={16} aria-hidden /> : <Bot size={16} aria-hidden />}<span className="grow">{t.work.modes[choice]}</span>{choice === mode && <Check size={15} aria-hidden />}</button></li>)}</ul>
      {error && <p className="bad" role="alert">{error}</p>}
    </Dialog>
  );
}
