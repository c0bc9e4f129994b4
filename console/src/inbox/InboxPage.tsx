/** The inbox: items by due time on the left, one item on the right; one column on a phone. */
import "./inbox.css";
import { X } from "lucide-react";
import { useMemo, type ReactNode } from "react";
import { useGet, useLast } from "../api/cache";
import { ApiError, query } from "../api/client";
import type { Item, Page } from "../api/types";
import { DueBadge } from "../home/HomePage";
import { Button, Empty, Failed, Segment, Skeleton } from "../components";
import { useNarrow } from "../components/useNarrow";
import { itemPartsOf } from "../languages";
import { useFrame } from "../shell/chrome";
import { useKeys } from "../shell/keys";
import { go, Link, useParam } from "../shell/router";
import { useSession } from "../shell/session";
import { useNow, useWords } from "../words";
import { closedBy } from "./closedBy";
import { dueText, type Due } from "./dueText";
import { itemIcon } from "./itemIcon";
import { ItemSkeleton, ItemView } from "./ItemView";

const GROUPS: Due["group"][] = ["overdue", "today", "later", "none"];

export function InboxPage({ run, node }: { run: string | null; node: string | null }): ReactNode {
  const words = useWords();
  const { t, f, nodeWord } = words;
  useFrame([{ text: t.nav.inbox }]);
  const phone = useNarrow();
  const { me } = useSession();
  const [tab, setTab] = useParam("tab");
  const mine = useGet<Page<Item>>("/inbox?mine=true&limit=50");
  const [kind, setKind] = useParam("kind");
  const team = useGet<Page<Item>>(`/inbox?mine=false&limit=50${kind === "approval" ? "&kind=approval" : ""}`);
  const answer = tab === "team" || tab === "given" ? team : mine;
  const given = useMemo(() => team.data?.items.filter((item) => item.delegations.some((delegation) => delegation.by === me.user)) ?? [], [team.data, me.user]);
  const page = useLast(answer.data);
  const now = useNow(10_000);
  const items = useMemo(() => (tab === "given" ? given : (page?.items ?? [])), [page, tab, given]);
  const grouped = useMemo(() => GROUPS.map((group) => ({ group, items: items.filter((item) => dueText(item.due_at, now, words).group === group) })).filter((members) => members.items.length > 0), [items, now, words]);
  const flat = grouped.flatMap((members) => members.items);
  const wanted = run && node ? `${run}/${node}` : null;
  // A wide screen never shows an empty right half: without a choice the first item is shown.
  const shown = wanted ?? (phone ? null : (flat[0]?.id ?? null));
  const at = flat.findIndex((item) => item.id === shown);
  const to = (id: string) => `/inbox/${id.split("/").map(encodeURIComponent).join("/")}${query({ tab, kind })}`;
  const move = (by: number) => {
    const next = flat[Math.max(0, Math.min(flat.length - 1, at + by))];
    if (next) go(to(next.id), { replace: true });
  };
  useKeys({ j: () => move(1), k: () => move(-1), Escape: () => wanted && phone && go("/inbox") });
  const next = () => {
    const rest = flat.filter((item) => item.id !== shown);
    const following = rest[Math.min(at, rest.length - 1)] ?? rest[0];
    go(following ? to(following.id) : "/inbox");
  };
  const list = (
    <section className="inbox-list" aria-label={t.inbox.title}>
      {!shown && <h1 className="sr">{t.inbox.title}</h1>}
      <div className="inbox-tabs">
        <Segment label={t.inbox.tabs} value={tab === "team" || tab === "given" ? tab : "mine"} onChange={(value) => setTab(value === "mine" ? null : value)} options={[
          { id: "mine", text: `${t.inbox.mine} ${mine.data?.total ?? ""}` }, { id: "team", text: `${t.inbox.team} ${team.data?.total ?? ""}` }, { id: "given", text: `${t.inbox.given} ${team.data ? given.length : ""}` }]} />
        {tab === "team" && kind === "approval" && <button type="button" className="chip chip-only" aria-label={t.runs.drop(t.inbox.approvalsOnly)} onClick={() => setKind(null)}>{t.inbox.approvalsOnly}<X size={13} aria-hidden /></button>}
      </div>
      <div className="inbox-scroll">
        {!page ? (answer.error ? <Failed error={answer.error} retry={answer.reload} /> : <div className="pad"><Skeleton h={72} n={4} /></div>)
          : flat.length === 0 ? <Empty title={tab === "team" ? t.inbox.teamEmpty : tab === "given" ? t.inbox.givenEmpty : t.inbox.empty} text={t.inbox.emptyDo}>{tab === null && <Button onClick={() => setTab("team")}>{t.inbox.team}</Button>}</Empty>
          : grouped.map(({ group, items: members }) => (
            <div key={group}>
              <h2>{{ overdue: t.inbox.overdue, today: t.inbox.today, later: t.inbox.later, none: t.inbox.noDue }[group]}</h2>
              <ul>
                {members.map((item) => {
                  const Icon = itemIcon(item);
                  const due = dueText(item.due_at, now, words);
                  return (
                    <li key={item.id}>
                      <Link to={to(item.id)} className="inbox-item" aria-current={item.id === shown ? "true" : undefined}>
                        <span className={`home-icon ${due.near ? (due.late ? "tone-failed" : "tone-held") : ""}`}><Icon size={16} strokeWidth={1.9} aria-hidden /></span>
                        <span className="grow"><b>{item.title}</b><span className="dim">{item.run_title}</span><span className="inbox-line"><DueBadge item={item} now={now} /><span className="dim">{itemPartsOf(item) ? nodeWord(item.language, item.status, item.status) : item.needed > 1 ? t.inbox.nOf(item.approvals.length, item.needed) : f.ago(item.opened_at, now)}</span></span></span>
                      </Link>
                    </li>
                  );
                })}
              </ul>
            </div>
          ))}
      </div>
      <footer className="inbox-keys" aria-hidden><kbd className="kbd">J</kbd><kbd className="kbd">K</kbd>{t.inbox.keys.move}<kbd className="kbd">A</kbd>{t.inbox.keys.approve}<kbd className="kbd">R</kbd>{t.inbox.keys.reject}<kbd className="kbd">?</kbd>{t.inbox.keys.help}</footer>
    </section>
  );
  const detail = shown && <ItemDetail key={shown} id={shown} known={flat.find((item) => item.id === shown)} place={at >= 0 ? { n: at + 1, of: flat.length } : null} phone={phone} onNext={next} />;
  if (phone) return <div className="inbox inbox-phone">{detail || list}</div>;
  return <div className="inbox">{list}<div className="inbox-one">{detail || (page && <Empty title={t.inbox.pick} />)}</div></div>;
}

function ItemDetail({ id, known, place, phone, onNext }: { id: string; known: Item | undefined; place: { n: number; of: number } | null; phone: boolean; onNext: () => void }): ReactNode {
  const words = useWords();
  const { t } = words;
  const path = `/inbox/${id.split("/").map(encodeURIComponent).join("/")}`;
  const answer = useGet<Item>(path);
  // An item that somebody else takes stays on the screen, and so does the text I typed.
  const item = useLast(answer.data ?? known);
  // 404: it never existed, or its run is gone; 409: somebody closed it.
  const problem = answer.error instanceof ApiError && [404, 409, 410].includes(answer.error.status) ? answer.error.problem : null;
  const gone = problem !== null;
  const closing = closedBy(problem, words);
  if (!item) return gone ? <Empty page title={closing ?? t.inbox.gone} text={closing ? undefined : t.inbox.goneText}><Link className="btn" to={`/runs/${id.split("/")[0]}`}>{t.inbox.seeRun}</Link><Button onClick={onNext}>{t.inbox.takenNext}</Button></Empty> : answer.error ? <Failed page error={answer.error} retry={answer.reload} /> : <ItemSkeleton />;
  const View = itemPartsOf(item)?.View ?? ItemView;
  return (
    <>
      {gone && <div className="notice tone-held gone" role="alert"><b className="grow">{closing ?? t.inbox.gone}. {t.inbox.takenText}</b><Link className="btn" to={`/runs/${item.run}`}>{t.inbox.seeRun}</Link><Button onClick={onNext}>{t.inbox.takenNext}</Button></div>}
      <View item={gone ? { ...item, moves: [], eligible: false, not_eligible_because: t.inbox.gone } : item} place={place} phone={phone} onNext={onNext} />
    </>
  );
}
