/** Executions: a sentence, what the queue and today look like, then the list: failed, running, and in which order they wait. */
import { ArrowUp, ChevronRight, Clock3, Download, Play, Search, X } from "lucide-react";
import { useMemo, useRef, useState, type ReactNode } from "react";
import { useGet, useLast } from "../api/cache";
import { query } from "../api/client";
import { Badge, Button, Card, Empty, Failed, Skeleton } from "../components";
import { download } from "../runs/csv";
import { useFrame } from "../shell/chrome";
import { useKeys } from "../shell/keys";
import { go, Link, setSearch, useParam, useSearch, useTypedParam } from "../shell/router";
import { seesWholeTenant, useSession } from "../shell/session";
import { useNow, useWords } from "../words";
import { Rich } from "../words/rich";
import { csvOf } from "./executionsCsv";
import { fileIcon, kindOf, nameOf } from "./files";
import { Ingest } from "./Ingest";
import { rememberList } from "./listNeighbours";
import { executionsPath, fileUrl } from "./requests";
import { StageBar } from "./StageBar";
import { Tiles } from "./Tiles";
import { standing } from "./executionTone";
import { useSteady, type Group } from "./steadyRows";
import { waitsFor } from "./waitReason";
import type { ExecutionPage, ExecutionShort, PipelineOverview } from "../api/types";

/** Those of several statuses have no chip of their own: groups and bars lead there. */
const VIEWS = ["now", "PENDING", "RUNNING", "FAILED", "TIMEOUT", "FAILED,TIMEOUT", "COMPLETED", "CANCELLED", "COMPLETED,CANCELLED"] as const;
type View = (typeof VIEWS)[number];
const SIZE = 50;
/** Failed ones that the first look shows. */
const NEWEST = 2;

export function ExecutionsPage(): ReactNode {
  const { t, f } = useWords();
  const p = t.pipeline;
  const now = useNow(1000);
  useFrame([{ text: p.title }]);
  const { me } = useSession();
  const answer = useGet<PipelineOverview>(seesWholeTenant(me) ? "/pipelines/overview" : null);
  const overview = useLast(answer.data);
  const search = useSearch();
  const view = (VIEWS.find((each) => each === search.get("status")) ?? "now") satisfies View;
  const list = view === "now" ? <NowView now={now} /> : <StatusView view={view} now={now} />;
  if (!seesWholeTenant(me)) return <div className="pipes"><h1>{p.executions}</h1><Card className="pipes-list" label={p.executions}><Filters overview={null} view={view} />{list}</Card></div>;
  if (!overview) return answer.error ? <Failed page error={answer.error} retry={answer.reload} /> : <div className="pad"><Skeleton h={48} w="50%" /><Skeleton h={110} /><Skeleton h={40} n={8} /></div>;
  const oldest = overview.oldestPendingAt ? now - Date.parse(overview.oldestPendingAt) : null;
  const [running, pending] = [f.number(overview.running), f.number(overview.pending)];
  return (
    <div className="pipes">
      <div className="home-head">
        <div className="grow">
          <h1><Rich text={overview.running && overview.pending ? p.headlineBoth(running, pending) : overview.running ? p.headlineRunning(running) : overview.pending ? p.headlinePending(pending) : p.headlineQuiet} /></h1>
          <p className="dim">{oldest !== null && `${p.oldest(f.duration(oldest))} `}{overview.ended > 0 ? p.today(f.number(overview.ended), f.number(overview.completed), f.number((100 * overview.completed) / overview.ended), f.number(overview.successLimit * 100)) : p.todayNone}</p>
        </div>
        <Link to="/pipelines/usage">{p.usageLink}</Link>
        <span className="home-clock"><Clock3 size={14} aria-hidden />{f.dayTime(now)} <span className="dim">{f.zoneName()}</span></span>
      </div>
      <Tiles overview={overview} oldest={oldest} />
      <div className="pipes-grid">
        <Card className="pipes-list" label={p.executions}>
          <Filters overview={overview} view={view} />
          {list}
        </Card>
        <Ingest overview={overview} now={now} />
      </div>
    </div>
  );
}

/** Without an overview nothing is counted, and no pipelines are named. */
function Filters({ overview, view }: { overview: PipelineOverview | null; view: View }): ReactNode {
  const { t, f } = useWords();
  const p = t.pipeline;
  const [wanted, setPipeline] = useParam("pipeline");
  const [typed, setTyped] = useTypedParam("q");
  const box = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => box.current?.focus() });
  return (
    <div className="pipes-filters">
      <label className="pipes-find"><Search size={15} aria-hidden /><span className="sr">{p.find}</span><input ref={box} type="search" value={typed} placeholder={p.find} onChange={(event) => setTyped(event.target.value)} /><kbd className="kbd">/</kbd></label>
      <div className="pipes-views" role="group" aria-label={p.views}>
        {VIEWS.map((each) => {
          const count = each === "now" || !overview ? undefined : each.split(",").reduce((sum, status) => sum + (overview.counts[status] ?? 0), 0);
          if (each !== "now" && each !== view && ((overview && !count) || each.includes(","))) return null;
          return <button key={each} type="button" className="chip" aria-pressed={each === view} onClick={() => setSearch({ status: each === "now" ? null : each, page: null })}>{each === "now" ? p.now : viewName(each, t)}{count !== undefined && <b> {f.number(count)}</b>}</button>;
        })}
      </div>
      {overview && <div className="pipes-select">
        <select className="input" aria-label={p.pipeline} value={wanted ?? ""} onChange={(event) => setPipeline(event.target.value || null)}>
          <option value="">{p.everyPipeline}</option>
          {overview.pipelines.map(({ code, name }) => <option key={code} value={code}>{name}</option>)}
        </select>
      </div>}
    </div>
  );
}

const viewName = (view: string, t: ReturnType<typeof useWords>["t"]): string => view.split(",").map((status) => t.pipeline.status[status] ?? status).join(" · ");

function useFilters(): { pipeline: string | null; text: string | null } {
  const search = useSearch();
  return { pipeline: search.get("pipeline"), text: search.get("q") };
}

/** Failed, running and queued at once; the queue in the order in which it is picked up. */
function NowView({ now }: { now: number }): ReactNode {
  const { t } = useWords();
  const p = t.pipeline;
  const filters = useFilters();
  const failed = useGet<ExecutionPage>(executionsPath({ status: "FAILED,TIMEOUT", size: NEWEST, ...filters }));
  const running = useGet<ExecutionPage>(executionsPath({ status: "RUNNING", sort: "queue", size: SIZE, ...filters }));
  const pending = useGet<ExecutionPage>(executionsPath({ status: "PENDING", sort: "queue", ...filters }));
  const done = useGet<ExecutionPage>(executionsPath({ status: "COMPLETED,CANCELLED", size: 8, ...filters }));
  const answers = [failed, running, pending, done];
  const [a, b, c, d] = [useLast(failed.data), useLast(running.data), useLast(pending.data), useLast(done.data)];
  const error = answers.find((each) => each.error && !each.data)?.error;
  if (error) return <Failed error={error} />;
  if (!a || !b || !c || !d) return <div className="pad-small"><Skeleton h={40} n={6} /></div>;
  const groups: Group[] = [
    { id: "failed", icon: X, tone: "failed", title: p.groups.failed, about: p.newestFirst, page: a, more: "FAILED,TIMEOUT" },
    { id: "running", icon: Play, tone: "moving", title: p.groups.running, about: p.byPriority, page: b, more: "RUNNING" },
    { id: "pending", icon: Clock3, tone: "idle", title: p.groups.pending, about: p.pickOrder, page: c, more: "PENDING" },
    { id: "done", icon: ChevronRight, tone: "done", title: p.groups.done, about: p.newestFirst, page: d, more: "COMPLETED,CANCELLED" },
  ];
  return <Steady groups={groups.filter((group) => group.page.total > 0)} now={now} of={`${filters.pipeline}/${filters.text}`} filtered={!!(filters.pipeline || filters.text)} />;
}

/** No row moves under the pointer: what has come meanwhile is counted on a pill. */
function Steady({ groups, now, of, filtered }: { groups: Group[]; now: number; of: string; filtered: boolean }): ReactNode {
  const { t, f } = useWords();
  const { shown, fresh, show, hold } = useSteady(groups, of);
  return (
    <div className="execs-wrap" onPointerEnter={(event) => event.pointerType === "mouse" && hold(true)} onPointerLeave={() => hold(false)}>
      {fresh > 0 && <button type="button" className="execs-new" onClick={show}><ArrowUp size={14} aria-hidden />{t.pipeline.newRows(f.number(fresh))}</button>}
      <Rows groups={shown} now={now} filtered={filtered} />
    </div>
  );
}

function StatusView({ view, now }: { view: View; now: number }): ReactNode {
  const { t, f } = useWords();
  const p = t.pipeline;
  const filters = useFilters();
  const [wanted, setPage] = useParam("page");
  const page = wanted !== null && /^\d{1,6}$/.test(wanted) ? Number(wanted) : 0;
  const answer = useGet<ExecutionPage>(executionsPath({ status: view, sort: view === "PENDING" || view === "RUNNING" ? "queue" : null, size: SIZE, page, ...filters }));
  const data = useLast(answer.data);
  if (!data) return answer.error ? <Failed error={answer.error} retry={answer.reload} /> : <div className="pad-small"><Skeleton h={40} n={8} /></div>;
  const last = Math.max(0, Math.ceil(data.total / SIZE) - 1);
  return (
    <>
      <Rows groups={data.items.length ? [{ id: view, icon: ChevronRight, tone: "idle", title: viewName(view, t), about: "", page: data, more: null }] : []} now={now} filtered={!!(filters.pipeline || filters.text)} />
      {last > 0 && (
        <div className="pipes-pages">
          <Button disabled={page === 0} onClick={() => setPage(page > 1 ? String(page - 1) : null)}>{p.previousPage}</Button>
          <span className="dim">{p.pageOf(f.number(page * SIZE + 1), f.number(Math.min(data.total, (page + 1) * SIZE)), f.number(data.total))}</span>
          <Button disabled={page >= last} onClick={() => setPage(String(page + 1))}>{p.nextPage}</Button>
        </div>
      )}
    </>
  );
}

function Rows({ groups, now, filtered }: { groups: Group[]; now: number; filtered: boolean }): ReactNode {
  const { t, f } = useWords();
  const p = t.pipeline;
  const all = useMemo(() => groups.flatMap((group) => group.page.items.map((item) => item.executionId)), [groups]);
  const tenants = useMemo(() => new Set(groups.flatMap((group) => group.page.items.map((item) => item.tenantId))).size, [groups]);
  const search = useSearch();
  const [at, setAt] = useState(-1);
  const body = useRef<HTMLTableElement>(null);
  const move = (by: number) => {
    const next = Math.min(all.length - 1, Math.max(0, at + by));
    setAt(next);
    body.current?.querySelectorAll<HTMLElement>("a.exec-name")[next]?.focus();
  };
  // of a list of one status, its neighbours are called by it
  const only = groups.length === 1 ? groups[0] : undefined;
  const open = (id: string) => { rememberList(all, only?.title ?? ""); go(`/pipelines/${id}`); };
  useKeys({ j: () => move(1), k: () => move(-1), Enter: () => { const id = all[at]; if (id) open(id); } });
  if (groups.length === 0) return filtered ? <Empty title={p.noneMatch} text={t.runs.emptyFilterDo}><Button onClick={() => go("/pipelines")}>{t.runs.clear}</Button></Empty> : <Empty title={p.none} text={p.noneDo}><code>penstock pipeline watch ./inbox --definition images.json</code></Empty>;
  return (
    <>
      <table className={`execs ${tenants > 1 ? "execs-tenants" : ""}`} ref={body}>
        <thead><tr><th className="num">{p.columns.priority}</th><th>{p.columns.status}</th><th>{p.columns.file}</th><th className="wide">{p.columns.pipeline}</th><th className="wide">{p.columns.stage}</th><th className="num wide">{p.columns.elapsed}</th><th className="num wide">{p.columns.retries}</th>{tenants > 1 && <th className="wide">{p.columns.tenant}</th>}</tr></thead>
        {groups.map((group) => (
          <tbody key={group.id}>
            {group.more !== null && (
              <tr className="exec-group"><th colSpan={tenants > 1 ? 8 : 7} scope="colgroup"><span className={`tone-${group.tone}`}><group.icon size={14} aria-hidden /><b>{group.title}</b> <b className="exec-count">{f.number(group.page.total)}</b> <span className="dim">{group.about}</span>{group.page.total > group.page.items.length && <Link to={`/pipelines${query({ status: group.more, pipeline: search.get("pipeline"), q: search.get("q") })}`}>{t.home.seeAll}</Link>}</span></th></tr>
            )}
            {group.page.items.map((item) => <ExecutionRow key={item.executionId} item={item} now={now} tenant={tenants > 1} onOpen={() => open(item.executionId)} />)}
          </tbody>
        ))}
      </table>
      <p className="execs-foot dim">
        <Button icon={Download} onClick={() => download(csvOf(groups.flatMap((group) => group.page.items)), "executions.csv")}>{t.runs.csv}</Button>
        <span className="execs-keys"><kbd className="kbd">J</kbd><kbd className="kbd">K</kbd> {t.inbox.keys.move} <kbd className="kbd">Enter</kbd> {t.common.open}</span>
      </p>
    </>
  );
}

function ExecutionRow({ item, now, tenant, onOpen }: { item: ExecutionShort; now: number; tenant: boolean; onOpen: () => void }): ReactNode {
  const { t, f } = useWords();
  const { tone, state, word } = standing(item, t);
  const name = item.file ? nameOf(item.file.key) : item.pipelineName;
  const open = item.status === "PENDING" || item.status === "RUNNING";
  const since = Date.parse((item.status === "RUNNING" && item.startedAt) || item.createdAt);
  return (
    <tr onClick={(event) => { if (!(event.target as Element).closest("a, button") && !event.metaKey && !event.ctrlKey) onOpen(); }}>
      <td className="num">{item.priority}</td>
      <td><Badge tone={tone} state={state}>{word}</Badge></td>
      <td>
        <span className="exec-file">
          <Thumb item={item} />
          <span className="grow">
            <Link className="exec-name cut" to={`/pipelines/${item.executionId}`} title={item.file?.key} onClick={(event) => { if (!event.metaKey && !event.ctrlKey && event.button === 0) { event.preventDefault(); onOpen(); } }}>{name}</Link>
            <span className="exec-why dim cut"><Rich text={reason(item, now, { t, f })} /></span>
          </span>
        </span>
      </td>
      <td className="wide"><span className="exec-two"><span className="cut">{item.pipelineName}</span><span className="mono dim cut">{item.pipelineCode}</span></span></td>
      <td className="wide"><StageBar stages={item.stages} /></td>
      <td className="num wide">{open ? f.duration(Math.max(0, now - since)) : item.completedAt ? f.ago(item.completedAt, now) : "–"}</td>
      <td className="num wide">{item.retryCount ? <b className="ink-held">{item.retryCount}</b> : "–"}</td>
      {tenant && <td className="wide">{item.tenantId}</td>}
    </tr>
  );
}

/** The picture itself, small, when it is one and not large; else an icon of its kind. */
function Thumb({ item }: { item: ExecutionShort }): ReactNode {
  const [broken, setBroken] = useState(false);
  const Icon = fileIcon(item.file?.mime, item.file?.key);
  const small = item.file && kindOf(item.file.mime, item.file.key) === "image" && item.file.size <= 8 * 1024 * 1024;
  return <span className="exec-thumb">{small && !broken ? <img src={fileUrl(item.executionId, null)} alt="" loading="lazy" decoding="async" onError={() => setBroken(true)} /> : <Icon size={16} strokeWidth={1.7} aria-hidden />}</span>;
}

/** The second line: why it stands as it stands. */
function reason(item: ExecutionShort, now: number, { t, f }: { t: ReturnType<typeof useWords>["t"]; f: ReturnType<typeof useWords>["f"] }): string {
  const p = t.pipeline;
  const stage = item.stages.find((each) => each.stageCode === item.errorStage)?.stageName ?? item.errorStage ?? "";
  const size = item.file ? f.bytes(item.file.size) : "";
  switch (item.status) {
    case "FAILED": return p.rowFailed(stage, item.error?.code ?? "", item.error?.message ?? "");
    case "TIMEOUT": return p.rowTimeout(stage, item.error?.code ?? "");
    case "RUNNING": return item.cancelRequested ? `${size} · ${p.cancellingLong}` : item.retryCount ? `${size} · ${p.attemptN(item.retryCount + 1)}` : size;
    case "PENDING": return item.nextAttemptAt ? p.rowRetry(f.duration(Math.max(0, Date.parse(item.nextAttemptAt) - now)), item.retryCount + 1, item.maxRetries + 1) : `${size} · ${waitsFor(item, t)}`;
    case "COMPLETED": {
      const missed = item.stages.filter((each) => each.status === "FAILED" || each.status === "TIMEOUT").map((each) => each.stageName);
      return missed.length ? `${size} · ${p.rowWarned(missed.join(", "))}` : item.durationMs !== null ? `${size} · ${f.duration(item.durationMs)}` : size;
    }
    default: return item.durationMs !== null ? `${size} · ${f.duration(item.durationMs)}` : size;
  }
}
