/** The list of runs: filters, a table with the reason of each, keys, saved views, CSV and bulk moves. */
import "./runs.css";
import { ArrowUp, Download, X } from "lucide-react";
import { useCallback, useRef, useState, type ReactNode } from "react";
import { useGet, useLast } from "../api/cache";
import { query } from "../api/client";
import type { Page, RunSummary } from "../api/types";
import { Button, Empty, Failed, Skeleton } from "../components";
import { toast } from "../components/toast";
import { useFrame } from "../shell/chrome";
import { useKeys } from "../shell/keys";
import { go, useSearch } from "../shell/router";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import { batchFilter, hasFilters, isCounted, runsQuery } from "./runsQuery";
import { BatchBar } from "./Batch";
import { BatchesButton, BatchStrip } from "./Batches";
import { Brush } from "./Brush";
import { collect, csvOf, download } from "./csv";
import { Filters } from "./Filters";
import { FIRST, useRows, type Rows } from "./rows";
import { sentenceOf, Table, type TableHandle } from "./Table";
import { Views } from "./Views";

export function RunsPage(): ReactNode {
  const { t } = useWords();
  const search = useSearch();
  useFrame([{ text: t.nav.runs }]);
  return <List search={search} />;
}

const NO_IDS: ReadonlySet<string> = new Set();
/** After a page has failed, the next is loaded by hand. */
const NOTHING = () => undefined;

/** The selected rows; another list has another selection. */
function usePicked(path: string) {
  const [selection, setSelection] = useState({ path, ids: NO_IDS, all: false });
  const own = selection.path === path ? selection : { path, ids: NO_IDS, all: false };
  const pick = useCallback((ids: string[], on: boolean) => setSelection((before) => {
    const next = new Set(before.path === path ? before.ids : NO_IDS);
    for (const id of ids) if (on) next.add(id); else next.delete(id);
    return { path, ids: next, all: false };
  }), [path]);
  return { ...own, pick, takeAll: () => setSelection({ ...own, all: true }), clear: () => setSelection({ path, ids: NO_IDS, all: false }) };
}

function List({ search }: { search: URLSearchParams }): ReactNode {
  const { t } = useWords();
  const { me } = useSession();
  const path = `/runs${query(runsQuery(search))}`;
  const answer = useGet<Page<RunSummary>>(`/runs${query({ ...runsQuery(search), limit: FIRST, total: isCounted(search) || null })}`);
  const first = useLast(answer.data);
  const list = useRows(path, first, answer.data !== undefined);
  const { rows } = list;
  const [at, setAt] = useState(-1);
  const picked = usePicked(path);
  const steer = may(me, "run.steer");
  const filterRef = useRef<HTMLInputElement>(null);
  const table = useRef<TableHandle>(null);
  const move = (by: number) => {
    const to = Math.max(0, Math.min(rows.length - 1, at + by));
    setAt(to);
    table.current?.show(to);
  };
  const here = rows[at];
  useKeys({
    "/": () => filterRef.current?.focus(), j: () => move(1), k: () => move(-1),
    Enter: () => here && go(`/runs/${here.id}`), x: () => here && steer && picked.pick([here.id], !picked.ids.has(here.id)),
    Escape: () => (picked.ids.size ? picked.clear() : setAt(-1)),
  });
  return (
    <div className="runs">
      <h1 className="sr">{t.runs.title}</h1>
      <Filters search={search} inputRef={filterRef}><Views search={search} /></Filters>
      <Brush search={search} />
      <div className="runs-body">
        {list.fresh > 0 && <button type="button" className="fresh" onClick={list.showFresh}><ArrowUp size={14} aria-hidden />{t.runs.fresh(list.fresh)}</button>}
        {answer.error && !answer.data ? <Failed error={answer.error} retry={answer.reload} />
          : !first ? <div className="pad"><Skeleton h={30} n={10} /></div>
          : rows.length === 0 ? <None search={search} list={list} />
          : <Table ref={table} rows={rows} open={list.next !== null} at={at} onAt={setAt} picked={steer ? picked.ids : null} onPick={picked.pick} sort={search.get("sort") ?? ""} onEnd={list.error === null ? list.more : NOTHING} />}
      </div>
      {(picked.ids.size > 0 || picked.all) && <BatchBar picked={picked.ids} all={picked.all} onAll={hasFilters(search) ? picked.takeAll : null} rows={rows} onClear={picked.clear}
        target={() => (picked.all ? { filter: batchFilter(search, Date.now()) } : { ids: [...picked.ids] })} />}
      <BatchStrip steer={steer} />
      <Foot list={list} total={answer.data?.total ?? null} steer={steer} path={path} />
    </div>
  );
}

function None({ search, list }: { search: URLSearchParams; list: Rows }): ReactNode {
  const { t } = useWords();
  if (list.next !== null) return <Empty title={t.runs.looking} />;
  if (hasFilters(search)) return <Empty title={t.runs.emptyFilter} text={t.runs.emptyFilterDo}><Button icon={X} onClick={() => go("/runs")}>{t.runs.clear}</Button></Empty>;
  return <Empty title={t.runs.empty} text={t.runs.emptyDo}><code>penstock run start wf_defect_alert_v2 --input '{`{"line_id": "L01"}`}'</code></Empty>;
}

function Foot({ list, total, steer, path }: { list: Rows; total: number | null; steer: boolean; path: string }): ReactNode {
  const { t, f } = useWords();
  return (
    <footer className="runs-foot">
      <span className="dim">{t.runs.count(f.number(list.rows.length))}</span>
      {total !== null && <b className="runs-total">{t.runs.total(f.number(total))}</b>}
      {list.next && <Button onClick={list.more} disabled={list.loading}>{t.common.loadMore}</Button>}
      {!list.next && list.rows.length > 0 && <span className="dim3">{t.runs.end}</span>}
      {list.error !== null && <span className="bad" role="alert">{errorText(list.error, t)}</span>}
      <span className="grow" />
      <BatchesButton steer={steer} />
      {list.rows.length > 0 && <Csv path={path} />}
      <span className="runs-keys" aria-hidden><kbd className="kbd">J</kbd><kbd className="kbd">K</kbd>{t.inbox.keys.move} {steer && <><kbd className="kbd">X</kbd>{t.keys.select} </>}<kbd className="kbd">/</kbd>{t.keys.filter} <kbd className="kbd">?</kbd>{t.keys.title}</span>
    </footer>
  );
}

/** Downloads all runs that match, not only those on the screen. */
function Csv({ path }: { path: string }): ReactNode {
  const { t, f } = useWords();
  const [n, setN] = useState<number | null>(null);
  const take = async () => {
    setN(0);
    try {
      const { rows, cut } = await collect(path, setN);
      download(csvOf(rows, (run) => sentenceOf(run, { t, f, now: Date.now() })), `penstock-runs-${new Date().toISOString().slice(0, 16).replace(":", "")}.csv`);
      toast(cut ? t.runs.csvCut(f.number(rows.length)) : t.runs.csvAll(f.number(rows.length)), { bad: cut });
    } catch (error) {
      toast(errorText(error, t), { bad: true });
    }
    setN(null);
  };
  return <Button look="quiet" icon={Download} disabled={n !== null} onClick={() => void take()}>{n === null ? t.runs.csv : t.runs.csvBusy(f.number(n))}</Button>;
}
