/** Runs: filters in the address, a table whose reason is a column, keys, pages by cursor, and a pill for what is new. */
import "./runs.css";
import { ArrowUp, ListFilter, Search, X } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { useGet, useLast } from "../api/cache";
import { call, query } from "../api/client";
import type { Page, RunSummary } from "../api/types";
import { Badge, Button, Empty, Failed, Skeleton } from "../parts";
import { useFrame } from "../shell/chrome";
import { useKeys } from "../shell/keys";
import { go, Link, setSearch, useSearch } from "../shell/router";
import { useNow, useWords } from "../words";
import { Rich } from "../words/rich";
import { runSentence, whySentence } from "../words/why";

const NAMES = ["q", "state", "status", "name", "version", "language", "node", "code", "var", "parent", "last"] as const;
const STATES = ["RUNNING", "WAITING", "FAILED", "COMPLETED", "CANCELLED", "COMPENSATING", "COMPENSATED", "PENDING"];
const LAST: Record<string, number> = { h1: 3_600_000, h24: 86_400_000, d7: 7 * 86_400_000 };
const PAGE = 50;

/** The server's query of an address; a span of time is turned into a moment, on the minute so that it can be kept. */
function asked(search: URLSearchParams): Record<string, string | null> {
  const out: Record<string, string | null> = {};
  for (const name of NAMES) if (name !== "last") out[name] = search.get(name);
  const span = LAST[search.get("last") ?? ""];
  if (span) out["since"] = new Date(Math.floor((Date.now() - span) / 60_000) * 60_000).toISOString();
  return out;
}

export function RunsPage(): ReactNode {
  const { t } = useWords();
  const search = useSearch();
  useFrame([{ text: t.nav.runs }]);
  return <List search={search} />;
}

function List({ search }: { search: URLSearchParams }): ReactNode {
  const { t, f } = useWords();
  const path = `/runs${query({ ...asked(search), limit: PAGE })}`;
  const answer = useGet<Page<RunSummary>>(path);
  const first = useLast(answer.data);
  const { rows, fresh, showFresh, more, next, loading } = useRows(path, first, answer.data !== undefined);
  const [at, setAt] = useState(-1);
  const filterRef = useRef<HTMLInputElement>(null);
  const table = useRef<HTMLDivElement>(null);
  const move = (by: number) => {
    const to = Math.max(0, Math.min(rows.length - 1, at + by));
    setAt(to);
    table.current?.querySelectorAll<HTMLElement>("tbody tr")[to]?.scrollIntoView({ block: "nearest" });
  };
  useKeys({
    "/": () => filterRef.current?.focus(), j: () => move(1), k: () => move(-1),
    Enter: () => rows[at] && go(`/runs/${rows[at].id}`), Escape: () => (at >= 0 ? setAt(-1) : undefined),
  });
  const filtered = NAMES.some((name) => search.get(name));
  return (
    <div className="runs">
      <h1 className="sr">{t.runs.title}</h1>
      <Filters search={search} inputRef={filterRef} filtered={filtered} />
      {fresh > 0 && <button type="button" className="fresh" onClick={showFresh}><ArrowUp size={14} aria-hidden />{t.runs.fresh(fresh)}</button>}
      <div className="runs-table" ref={table} tabIndex={0} role="region" aria-label={t.runs.title}>
        {!first ? (answer.error ? <Failed error={answer.error} retry={answer.reload} /> : <div className="pad"><Skeleton h={30} n={10} /></div>)
          : rows.length === 0 ? (filtered
            ? <Empty title={t.runs.emptyFilter} text={t.runs.emptyFilterDo}><Button icon={X} onClick={() => go("/runs")}>{t.runs.clear}</Button></Empty>
            : <Empty title={t.runs.empty} text={t.runs.emptyDo}><code>penstock run start wf_defect_alert_v2 --input '{`{"line_id": "L01"}`}'</code></Empty>)
          : <Table rows={rows} at={at} onAt={setAt} />}
      </div>
      <footer className="runs-foot">
        <span className="dim">{t.runs.count(f.number(rows.length))}</span>
        {next && <Button onClick={more} disabled={loading}>{t.common.loadMore}</Button>}
        {!next && rows.length > 0 && <span className="dim3">{t.runs.end}</span>}
        <span className="grow" />
        <span className="runs-keys" aria-hidden><kbd className="kbd">J</kbd><kbd className="kbd">K</kbd>{t.inbox.keys.move} <kbd className="kbd">/</kbd>{t.keys.filter} <kbd className="kbd">?</kbd>{t.keys.title}</span>
      </footer>
    </div>
  );
}

/** Rows that stay where they are: known ones change in place, new ones wait behind a pill. */
function useRows(path: string, first: Page<RunSummary> | undefined, current: boolean) {
  const [kept, setKept] = useState<{ path: string; rows: RunSummary[]; next: string | null } | null>(null);
  const [loading, setLoading] = useState(false);
  useEffect(() => {
    if (!first || !current) return;
    setKept((before) => {
      if (!before || before.path !== path) return { path, rows: first.items, next: first.next };
      const now = new Map(first.items.map((row) => [row.id, row]));
      return { ...before, rows: before.rows.map((row) => now.get(row.id) ?? row) };
    });
  }, [first, path, current]);
  const rows = kept?.rows ?? first?.items ?? [];
  const known = useMemo(() => new Set(rows.map((row) => row.id)), [rows]);
  const fresh = kept?.path === path ? (first?.items.filter((row) => !known.has(row.id)).length ?? 0) : 0;
  const showFresh = useCallback(() => {
    if (first) setKept((before) => before && { ...before, rows: [...first.items, ...before.rows.filter((row) => !first.items.some((one) => one.id === row.id))] });
  }, [first]);
  const more = async () => {
    if (!kept?.next) return;
    setLoading(true);
    try {
      const page = await call<Page<RunSummary>>(`${path}${path.includes("?") ? "&" : "?"}cursor=${encodeURIComponent(kept.next)}`);
      setKept({ ...kept, rows: [...kept.rows, ...page.items.filter((row) => !known.has(row.id))], next: page.next });
    } finally {
      setLoading(false);
    }
  };
  return { rows, fresh, showFresh, more: () => void more(), next: kept?.next ?? null, loading };
}

function Filters({ search, inputRef, filtered }: { search: URLSearchParams; inputRef: React.RefObject<HTMLInputElement | null>; filtered: boolean }): ReactNode {
  const { t } = useWords();
  const [text, setText] = useState(search.get("q") ?? "");
  const [open, setOpen] = useState(() => ["name", "version", "node", "code", "var", "language"].some((name) => search.get(name)));
  const wanted = search.get("q") ?? "";
  useEffect(() => {
    if (text === wanted) return;
    const timer = window.setTimeout(() => setSearch({ q: text || null }), 250);
    return () => window.clearTimeout(timer);
  }, [text, wanted]);
  const picked = new Set((search.get("state") ?? "").split(",").filter(Boolean));
  const toggle = (state: string) => {
    if (picked.has(state)) picked.delete(state);
    else picked.add(state);
    setSearch({ state: [...picked].join(",") || null });
  };
  return (
    <div className="filters" role="search">
      <label className="filter-text"><Search size={15} aria-hidden /><span className="sr">{t.runs.filter}</span><input ref={inputRef} value={text} placeholder={t.runs.filter} onChange={(event) => setText(event.target.value)} onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()} /><kbd className="kbd">/</kbd></label>
      <div className="chips" role="group" aria-label={t.runs.status}>
        {STATES.slice(0, 5).map((state) => <button key={state} type="button" className="chip" aria-pressed={picked.has(state)} onClick={() => toggle(state)}>{t.state[state]}</button>)}
      </div>
      <select className="input filter-select" aria-label={t.runs.time} value={search.get("last") ?? ""} onChange={(event) => setSearch({ last: event.target.value || null })}>
        <option value="">{t.runs.last.all}</option><option value="h1">{t.runs.last.h1}</option><option value="h24">{t.runs.last.h24}</option><option value="d7">{t.runs.last.d7}</option>
      </select>
      <Button icon={ListFilter} aria-expanded={open} onClick={() => setOpen(!open)}>{t.runs.moreFilters}</Button>
      {filtered && <Button look="quiet" icon={X} onClick={() => { setText(""); go("/runs"); }}>{t.runs.clear}</Button>}
      {open && (
        <div className="filters-more">
          {([["name", t.runs.definition], ["version", t.runs.version], ["node", t.runs.node], ["code", t.runs.code], ["var", t.runs.variable]] as const).map(([name, label]) => <Late key={name} name={name} label={label} value={search.get(name) ?? ""} />)}
          <label><span className="label">{t.runs.language}</span><select className="input" value={search.get("language") ?? ""} onChange={(event) => setSearch({ language: event.target.value || null })}><option value="">{t.runs.any}</option>{["decision", "diagram"].map((one) => <option key={one} value={one}>{t.language[one]}</option>)}</select></label>
        </div>
      )}
    </div>
  );
}

/** A filter that is applied when it is left or Enter is pressed. */
function Late({ name, label, value }: { name: string; label: string; value: string }): ReactNode {
  const [text, setText] = useState(value);
  const apply = () => text !== value && setSearch({ [name]: text.trim() || null });
  return <label><span className="label">{label}</span><input className="input" value={text} placeholder={name === "var" ? "line_id=L01" : ""} onChange={(event) => setText(event.target.value)} onBlur={apply} onKeyDown={(event) => event.key === "Enter" && apply()} /></label>;
}

function Table({ rows, at, onAt }: { rows: RunSummary[]; at: number; onAt: (at: number) => void }): ReactNode {
  const { t, f, runWord } = useWords();
  const now = useNow(5000);
  const c = t.runs.columns;
  return (
    <table aria-rowcount={-1}>
      <thead><tr><th>{c.status}</th><th>{c.name}</th><th>{c.why}</th><th>{c.node}</th><th className="num">{c.started}</th><th className="num">{c.active}</th><th className="num">{c.version}</th></tr></thead>
      <tbody>
        {rows.map((run, i) => (
          <tr key={run.id} aria-selected={i === at} className={i === at ? "row-at" : ""} onClick={(event) => { if (!(event.target as Element).closest("a, button")) { onAt(i); go(`/runs/${run.id}`); } }}>
            <td><Badge tone={run.tone} state={run.state}>{runWord(run.language, run.status, run.state)}</Badge></td>
            <td className="cell-name"><Link to={`/runs/${run.id}`}>{run.title}</Link> <span className="mono dim">{run.key ?? run.id.slice(0, 9)}</span></td>
            <td className="cell-why"><span className="cut"><Rich text={run.why ? whySentence(run.why, { t, f, now }) : run.state === "COMPLETED" && run.result ? run.result : runSentence(run, { t, f, now })} /></span>{run.more_why > 0 && <span className="dim"> {t.why.andMore(run.more_why)}</span>}</td>
            <td className="mono dim cell-node">{run.node ?? "–"}</td>
            <td className="num dim">{run.started_at && <time dateTime={run.started_at} title={f.title(run.started_at)}>{f.ago(run.started_at, now)}</time>}</td>
            <td className="num">{f.duration(run.active_ms)}</td>
            <td className="num dim">{run.version === null ? "–" : `v${run.version}`}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
