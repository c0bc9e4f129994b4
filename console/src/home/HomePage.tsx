/** Home: a headline, stuck runs, items that wait for me, six tiles, and the last 24 hours. */
import "./home.css";
import { AlarmClock, ArrowUpRight, Calendar, CalendarClock, Check, CircleAlert, Clock3, Hourglass, Inbox, Minus, Server, Siren, TriangleAlert, Unplug, X, type LucideIcon } from "lucide-react";
import { lazy, Suspense, useState, type ReactNode } from "react";
import { useGet, useLast } from "../api/cache";
import { query } from "../api/client";
import type { Home, Item, ItemShort, Json, Page, Stuck as StuckRuns, Tile, Verb, Why } from "../api/types";
import { itemIcon } from "../inbox/itemIcon";
import { dueText } from "../inbox/dueText";
import { languageOf } from "../languages";
import { MOVE_ICON } from "../run/sendMove";
import { Badge, Button, Card, Failed, Segment, Skeleton, Tag } from "../components";
import { useNarrow } from "../components/useNarrow";
import { useFrame } from "../shell/chrome";
import { go, Link, useParam } from "../shell/router";
import { may, useSession } from "../shell/session";
import { useNow, useWords } from "../words";
import { Rich } from "../words/rich";
import { whySentence } from "../words/why";
import { Hours, Spark } from "./charts";
import { stuckCount } from "./stuckCount";

const QuickMove = lazy(() => import("./QuickMove"));

export function HomePage(): ReactNode {
  const { t, f } = useWords();
  const [scope, setScope] = useParam("scope");
  const answer = useGet<Home>(`/home?scope=${scope === "site" ? "site" : "mine"}`);
  const home = useLast(answer.data);
  const now = useNow(5000);
  const phone = useNarrow();
  useFrame([{ text: t.nav.home }]);
  if (!home) return answer.error ? <Failed page error={answer.error} retry={answer.reload} /> : <div className="home pad"><Skeleton h={48} w="50%" /><Skeleton h={180} n={3} /></div>;
  const { stuck, causes, waiting, flowing, ended_24h: ended, completed_24h: completed } = home.headline;
  const [stuckText, waitingText] = [stuckCount(home.headline, f), f.number(waiting)];
  const headline = stuck && waiting ? t.home.headlineBoth(stuckText, waitingText) : stuck ? t.home.headlineStuck(stuckText) : waiting ? t.home.headlineWaiting(waitingText) : t.home.headlineQuiet;
  // With few rows there is room on the left, so the chart of the day stands there.
  const sparse = home.stuck.length + Math.min(5, home.waiting.length) <= 3;
  const day = (
    <Card className="home-hours">
      <div className="card-head"><h2>{t.home.hours}</h2><span className="end legend"><i className="hour-done" />{t.home.done}<i className="hour-held" />{t.home.held}<i className="hour-failed" />{t.home.failedWord}</span></div>
      <Hours hours={home.hours} size={phone ? [330, 150] : sparse ? [720, 150] : [440, 132]} />
    </Card>
  );
  return (
    <div className="home">
      <div className="home-head">
        <div className="grow">
          <h1><Rich text={headline} /></h1>
          <p className="dim">{stuck > causes && `${t.home.causes(f.number(causes))} `}{t.home.sub(f.number(flowing), f.number(ended), f.number(completed))}{!stuck && !waiting && home.schedules[0] && ` ${t.home.nextUp(whenOf(home.schedules[0].next_at, now, { t, f }), home.schedules[0].title || home.schedules[0].name)}`}</p>
        </div>
        <Segment label={t.home.scope} value={scope === "site" ? "site" : "mine"} onChange={(value) => setScope(value === "mine" ? null : value)} options={[{ id: "mine", text: t.home.mine }, { id: "site", text: t.home.site }]} />
        <span className="home-clock"><Clock3 size={14} aria-hidden />{f.dayTime(now)} <span className="dim">{f.zoneName()}</span></span>
      </div>
      <div className="home-grid">
        <div className="home-left">
          <Stuck home={home} now={now} />
          <Waiting items={home.waiting} total={waiting} now={now} />
          {sparse && day}
        </div>
        <div className="home-right">
          <Card className="tiles">{home.tiles.map((tile) => <TileView key={tile.id} tile={tile} now={now} />)}</Card>
          <Workers workers={home.workers} />
        </div>
      </div>
      <div className={`home-row ${sparse ? "home-row-two" : ""}`}>
        {!sparse && day}
        <Slowest slowest={home.slowest} />
        <ByWork home={home} />
      </div>
      <Soon home={home} now={now} />
    </div>
  );
}

/** The permission that each move needs; the others need run.steer. */
const PERMISSION: Partial<Record<Verb, string>> = { resolve: "run.edit", skip: "run.edit", edit_variable: "run.edit", approve: "inbox.decide", reject: "inbox.decide", judge: "inbox.decide", respond: "inbox.decide" };
const STUCK_ICON: Partial<Record<Why["kind"], LucideIcon>> = { breaker: Unplug, no_worker: Server, event: Hourglass, work: Hourglass, child: Hourglass, timer: Hourglass, failed: X };

function Stuck({ home, now }: { home: Home; now: number }): ReactNode {
  const { t, f } = useWords();
  const { stuck, headline: { stuck: total, causes } } = home;
  const { me } = useSession();
  const [asked, setAsked] = useState<{ n: number; run: string; verb: Verb; node: string | null; from: Element } | null>(null);
  return (
    <Card>
      <div className="card-head"><CircleAlert size={16} className={total ? "ink-failed" : "dim"} aria-hidden /><h2>{t.home.stuck}</h2><span className="dim">{stuckCount(home.headline, f)}</span>{causes > stuck.length && <Link className="end" to={`/runs${query({ state: "FAILED", ended: home.since })}`}>{t.home.seeAll}</Link>}</div>
      {stuck.length === 0 && <p className="home-none dim">{t.home.stuckNone}</p>}
      <ul>
        {stuck.map(({ run, why, count, since, query: filters }: StuckRuns) => {
          const Icon = STUCK_ICON[why.kind] ?? TriangleAlert;
          const atItem = languageOf(run.language).items?.permissions ?? {};
          const verb = why.move !== null && may(me, atItem[why.move] ?? PERMISSION[why.move] ?? "run.steer") ? why.move : null;
          const decides = verb !== null && verb in atItem && why.node !== null;
          return (
            <li key={run.id} className="home-item">
              <span className={`home-icon tone-${why.rank <= 4 ? "failed" : "held"}`}><Icon size={16} strokeWidth={1.9} aria-hidden /></span>
              <div className="grow">
                <p className="home-name"><Link to={`/runs/${run.id}`}>{run.title}</Link> <span className="dim">{run.key ?? run.name}</span> <Tag>{t.language[run.language] ?? run.language}</Tag>{count > 1 && <Link className="home-count" to={`/runs${query(filters)}`}>{t.home.sameCause(f.number(count))}</Link>}</p>
                <p className="home-text dim"><Rich text={whySentence(why, { t, f, now })} /></p>
              </div>
              <span className="dim home-since">{t.why.since(f.duration(now - Date.parse(since)))}</span>
              {verb ? <Button icon={MOVE_ICON[verb]} onClick={(event) => decides ? go(`/inbox/${encodeURIComponent(run.id)}/${encodeURIComponent(why.node ?? "")}`) : setAsked({ n: (asked?.n ?? 0) + 1, run: run.id, verb, node: why.node, from: event.currentTarget })}>{t.run[verb]}</Button>
                : <Button icon={ArrowUpRight} onClick={() => go(`/runs/${run.id}`)}>{t.home.openRun}</Button>}
            </li>
          );
        })}
      </ul>
      {asked && <Suspense fallback={null}><QuickMove key={asked.n} run={asked.run} verb={asked.verb} node={asked.node} from={asked.from} /></Suspense>}
    </Card>
  );
}

function Waiting({ items, total, now }: { items: ItemShort[]; total: number; now: number }): ReactNode {
  const { t } = useWords();
  const { data: inbox } = useGet<Page<Item>>("/inbox?mine=true&limit=50"); // the sidebar has it already
  const inboxItem = (id: string) => inbox?.items.find((item) => item.id === id);
  const fields = (id: string) => inboxItem(id)?.fields ?? [];
  const drafted = (id: string) => !!inboxItem(id)?.moves.some((move) => move.verb === "approve");
  return (
    <Card>
      <div className="card-head"><Inbox size={16} className={total ? "ink-held" : "dim"} aria-hidden /><h2>{t.home.waiting}</h2><span className="dim">{total}</span>{total > 0 && <Link className="end" to="/inbox">{t.home.openInbox}</Link>}</div>
      {items.length === 0 && <p className="home-none dim">{t.home.waitingNone}</p>}
      <ul>
        {items.slice(0, 5).map((item, i) => {
          const Icon = itemIcon(inboxItem(item.id) ?? item);
          const to = `/inbox/${item.id}`;
          return (
            <li key={item.id} className="home-item">
              <span className="home-icon"><Icon size={16} strokeWidth={1.9} aria-hidden /></span>
              <div className="grow">
                <p className="home-name"><Link to={to}>{item.title}</Link></p>
                <p className="home-text dim cut">{[item.run_title, ...fields(item.id).slice(0, 3).map((field) => `${t.inbox.field[field.key] ?? field.label} ${short(field.value)}${field.unit ?? ""}`)].join(" · ")}</p>
              </div>
              <DueBadge item={item} now={now} />
              <Button look={i === 0 ? "primary" : "plain"} onClick={() => go(to)}>{item.kind === "work" && !drafted(item.id) ? t.home.respond : t.home.review}</Button>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}

const short = (value: Json): string => (typeof value === "object" ? JSON.stringify(value).slice(0, 24) : String(value).slice(0, 40));

export function DueBadge({ item, now }: { item: Pick<ItemShort, "due_at">; now: number }): ReactNode {
  const words = useWords();
  const due = dueText(item.due_at, now, words);
  const Icon = due.near ? AlarmClock : item.due_at ? Calendar : Minus;
  return <span className={`badge ${due.late ? "tone-failed" : due.near ? "tone-held" : "badge-quiet"}`}><Icon size={13} aria-hidden />{due.text}</span>;
}

function TileView({ tile, now }: { tile: Tile; now: number }): ReactNode {
  const { t, f } = useWords();
  const percent = tile.unit === "%" || tile.id === "success_rate" || tile.id === "node_error_rate";
  const unit = percent ? "%" : tile.id === "open_breakers" ? t.common.unitThings : t.common.unitRuns;
  const value = tile.value === null ? "–" : f.number(tile.value);
  const limit = tile.threshold === null ? null : `${f.number(tile.threshold)}${percent ? "%" : ""}`;
  const detail = [detailOf(tile, now, { t, f }), limit && (tile.id === "success_rate" ? t.home.limitOver(limit) : t.home.limit(limit))].filter(Boolean).join(" · ");
  const to = `${{ approvals: "/inbox", open_breakers: "/ops" }[tile.id as string] ?? "/runs"}${query(tile.query)}`;
  return (
    <Link to={to} className="tile">
      <span className="tile-name">{t.home.tiles[tile.id] ?? tile.id}{tile.alarm && <Badge tone="failed" icon={TriangleAlert}>{t.home.alarm}</Badge>}</span>
      <span className="tile-value"><b>{value}</b>{tile.value !== null && unit}</span>
      <span className="tile-detail">{detail || "\u00a0"}</span>
      <Spark series={tile.series} alarm={tile.alarm} />
    </Link>
  );
}

/** The time; on another day, with the day. */
function whenOf(time: string, now: number, { t, f }: Speech): string {
  const days = f.daysAhead(time, now);
  return days === 0 ? f.clock(time) : days === 1 ? `${t.home.tomorrow} ${f.clock(time)}` : f.dayTime(time);
}

type Speech = Pick<ReturnType<typeof useWords>, "t" | "f">;

/** The second line of a tile, from the numbers that the server sends. */
function detailOf(tile: Tile, now: number, { t, f }: Speech): string {
  const { detail } = tile;
  if (detail === null || typeof detail !== "object" || Array.isArray(detail)) return detail ? String(detail) : "";
  const d = t.home.tileDetail;
  const n = (name: string): number | null => (typeof detail[name] === "number" ? detail[name] : null);
  const [completed, counted, failed, executed, oldest, waiting, runs] = [n("completed"), n("counted"), n("failed"), n("executed"), n("oldest_at"), n("waiting"), n("runs")];
  switch (tile.id) {
    case "running": return waiting === null ? "" : d.waiting(f.number(waiting));
    case "success_rate": return completed === null || counted === null ? "" : d.share(f.number(completed), f.number(counted));
    case "approvals": return oldest === null ? "" : d.oldest(f.duration(now - oldest, 1));
    case "node_error_rate": return failed === null || executed === null ? "" : d.share(f.number(failed), f.number(executed)) + (runs ? ` · ${d.inRuns(f.number(runs))}` : "");
    case "dead_letters": return d.fresh(f.number(tile.series.reduce<number>((sum, count) => sum + (count ?? 0), 0)));
    case "open_breakers": return Array.isArray(detail["names"]) ? detail["names"].slice(0, 2).join(", ") : "";
    default: return "";
  }
}

function Workers({ workers }: { workers: Home["workers"] }): ReactNode {
  const { t } = useWords();
  const driving = workers.filter((worker) => worker.state === "driving" || worker.state === "silent" || worker.state === "gone");
  const waiting = (worker: Home["workers"][number]) => (worker.detail !== null && typeof worker.detail === "object" && !Array.isArray(worker.detail) ? Number(worker.detail["queued"] ?? 0) : 0);
  // the longest queues first
  const queues = workers.filter((worker) => !driving.includes(worker)).sort((a, b) => waiting(b) - waiting(a));
  return (
    <Card className="workers">
      <div className="card-head"><Server size={16} className="dim" aria-hidden /><h2>{t.home.workers}</h2></div>
      <ul>
        {driving.length === 0 && <Worker good={false} name={t.home.noWorker} detail="" />}
        {driving.map((worker) => <Worker key={worker.name} good={worker.state === "driving"} name={t.home.worker(worker.name)} detail={worker.state === "driving" ? t.home.driving : worker.state} />)}
        {queues.slice(0, Math.max(1, 4 - driving.length)).map((worker) => {
          const detail = worker.detail !== null && typeof worker.detail === "object" && !Array.isArray(worker.detail) ? worker.detail : {};
          return <Worker key={worker.name} good={/^(idle|busy|ok|working)$/i.test(worker.state)} name={t.home.queue(worker.name)} detail={t.home.queued(Number(detail["queued"] ?? 0), Number(detail["working"] ?? 0))} />;
        })}
      </ul>
    </Card>
  );
}

function Worker({ good, name, detail }: { good: boolean; name: string; detail: string }): ReactNode {
  return <li><span className={`dot tone-${good ? "done" : "held"}`}>{good ? <Check size={12} strokeWidth={2.4} aria-hidden /> : <TriangleAlert size={12} strokeWidth={2.2} aria-hidden />}</span><span className="grow">{name}</span><span className="dim">{detail}</span></li>;
}

function Slowest({ slowest }: { slowest: Home["slowest"] }): ReactNode {
  const { t, f, typeWordOfAny } = useWords();
  const most = Math.max(1, ...slowest.map((node) => node.p95_ms));
  return (
    <Card className="slowest">
      <div className="card-head"><h2>{t.home.slowest}</h2><span className="dim">p95</span></div>
      {slowest.length === 0 && <p className="home-none dim">{t.home.noData}</p>}
      <dl>
        {slowest.slice(0, 5).map((node, i) => (
          <div key={node.node_type}><dt className="cut">{typeWordOfAny(node.node_type)}</dt><dd><span className="meter" aria-hidden><i className={i === 0 && slowest.length > 1 && node.p95_ms > 2 * (slowest[1]?.p95_ms ?? 0) ? "meter-held" : ""} style={{ width: `${(node.p95_ms / most) * 90}%` }} /></span><b>{f.duration(node.p95_ms)}</b></dd></div>
        ))}
      </dl>
    </Card>
  );
}

function ByWork({ home }: { home: Home }): ReactNode {
  const { t, f } = useWords();
  return (
    <Card className="bywork">
      <div className="card-head"><h2>{t.home.byWork}</h2></div>
      {home.by_language.length === 0 && <p className="home-none dim">{t.home.noRuns}</p>}
      <ul>
        {home.by_language.map((counts) => {
          const Icon = languageOf(counts.language).icon ?? Siren;
          return (
            <li key={counts.language}>
              <Icon size={15} strokeWidth={1.9} className="dim" aria-hidden />
              <Link to={`/runs?language=${counts.language}`} className="grow">{t.language[counts.language] ?? counts.language}</Link>
              <span>{t.home.running} <b>{f.number(counts.running)}</b> · {t.home.wait} <b>{f.number(counts.waiting)}</b></span>
              <span className="bywork-end">{counts.stuck ? <span className="badge tone-failed">{t.home.stuckN(f.number(counts.stuck))}</span> : counts.undoing ? <span className="badge tone-undone">{t.home.undoing(f.number(counts.undoing))}</span> : <span className="dim">{t.home.fine}</span>}</span>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}

function Soon({ home, now }: { home: Home; now: number }): ReactNode {
  const { t, f } = useWords();
  return (
    <section className="soon" aria-label={t.home.soon}>
      <span><CalendarClock size={16} aria-hidden /><b>{t.home.soon}</b></span>
      {home.schedules.length === 0 && <span className="dim">{t.home.noSchedules}</span>}
      {home.schedules.slice(0, 4).map((schedule) => <span key={schedule.name + schedule.next_at}><b>{whenOf(schedule.next_at, now, { t, f })}</b> {schedule.title || schedule.name}</span>)}
    </section>
  );
}
