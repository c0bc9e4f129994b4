/** The table of runs. Only visible rows are rendered, so that ten thousand scroll as well as ten. */
import { ArrowDown, ArrowUp } from "lucide-react";
import { memo, useEffect, useImperativeHandle, useRef, useState, type ReactNode, type Ref } from "react";
import type { RunSummary } from "../api/types";
import { Badge, Copyable } from "../components";
import { useNarrow } from "../components/useNarrow";
import { go, Link, setSearch } from "../shell/router";
import { useNow, useWords } from "../words";
import { Rich } from "../words/rich";
import { runSentence, whySentence } from "../words/why";

/** Heights of a row in px, as in the style sheet: with a mouse, with a finger, as a card on a phone. */
const HEIGHT = { mouse: 36, finger: 44, card: 112 };
const AROUND = 8;
/** The next page is loaded when so many rows are left. */
const AHEAD = 30;

export interface TableHandle {
  show: (row: number) => void;
}

interface Props {
  rows: RunSummary[];
  /** Whether there are more behind the last. */
  open: boolean;
  at: number;
  onAt: (row: number) => void;
  picked: ReadonlySet<string> | null;
  onPick: (ids: string[], on: boolean) => void;
  sort: string;
  onEnd: () => void;
  ref: Ref<TableHandle>;
}

export function Table({ rows, open, at, onAt, picked, onPick, sort, onEnd, ref }: Props): ReactNode {
  const { t } = useWords();
  const c = t.runs.columns;
  const now = useNow(5000);
  const phone = useNarrow();
  const height = phone ? HEIGHT.card : matchMedia("(pointer: coarse)").matches ? HEIGHT.finger : HEIGHT.mouse;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 900 });
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let frame = 0;
    const look = () => {
      frame = 0;
      setView((before) => (before.top === element.scrollTop && before.height === element.clientHeight ? before : { top: element.scrollTop, height: element.clientHeight }));
    };
    const later = () => { frame ||= requestAnimationFrame(look); };
    look();
    element.addEventListener("scroll", later, { passive: true });
    const sized = new ResizeObserver(later);
    sized.observe(element);
    return () => { cancelAnimationFrame(frame); element.removeEventListener("scroll", later); sized.disconnect(); };
  }, []);
  const first = Math.max(0, Math.floor(view.top / height) - AROUND);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / height) + AROUND);
  useImperativeHandle(ref, () => ({
    show: (row) => {
      const element = box.current;
      if (!element) return;
      const head = element.querySelector("thead")?.clientHeight ?? 0;
      if (row * height < element.scrollTop) element.scrollTop = row * height;
      else if ((row + 1) * height + head > element.scrollTop + element.clientHeight) element.scrollTop = (row + 1) * height + head - element.clientHeight;
    },
  }), [height]);
  useEffect(() => {
    if (open && view.top > 0 && last > rows.length - AHEAD) onEnd();
  }, [open, view.top, last, rows.length, onEnd]);
  const columns = picked ? 8 : 7;
  return (
    <div className="runs-table" ref={box} tabIndex={0} role="region" aria-label={t.runs.title} style={{ "--row": `${height}px` } as React.CSSProperties}>
      <table aria-rowcount={open ? -1 : rows.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {picked && <th className="cell-pick"><Pick label={t.runs.batch.pickAll} on={rows.length > 0 && rows.every((run) => picked.has(run.id))} some={picked.size > 0} onPick={(on) => onPick(rows.map((run) => run.id), on)} /></th>}
            <th>{c.status}</th><th>{c.name}</th><th>{c.why}</th><th>{c.node}</th>
            <Started sort={sort} />
            <th className="num">{c.active}</th><th className="num">{c.version}</th>
          </tr>
        </thead>
        <tbody>
          {first > 0 && <Gap height={first * height} columns={columns} />}
          {rows.slice(first, last).map((run, i) => (
            <Row key={run.id} run={run} index={first + i} here={first + i === at} picked={picked ? picked.has(run.id) : null} onAt={onAt} onPick={onPick} now={now} />
          ))}
          {last < rows.length && <Gap height={(rows.length - last) * height} columns={columns} />}
        </tbody>
      </table>
    </div>
  );
}

const Gap = ({ height, columns }: { height: number; columns: number }): ReactNode => <tr className="gap" aria-hidden style={{ height }}><td colSpan={columns} /></tr>;

/** The one column that the server can sort by; the other orders are in the bar. */
function Started({ sort }: { sort: string }): ReactNode {
  const { t } = useWords();
  const own = sort === "" || sort === "-started_at" || sort === "started_at";
  const rising = sort === "started_at";
  const Icon = rising ? ArrowUp : ArrowDown;
  return (
    <th className="num" aria-sort={!own ? "none" : rising ? "ascending" : "descending"}>
      <button type="button" className="th-sort" onClick={() => setSearch({ sort: own && !rising ? "started_at" : null })}>{t.runs.columns.started}{own && <Icon size={12} aria-hidden />}</button>
    </th>
  );
}

function Pick({ label, on, some = false, onPick }: { label: string; on: boolean; some?: boolean; onPick: (on: boolean) => void }): ReactNode {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current) box.current.indeterminate = some && !on;
  }, [some, on]);
  return <label className="pick"><input ref={box} type="checkbox" aria-label={label} checked={on} onChange={(event) => onPick(event.target.checked)} /></label>;
}

interface RowProps {
  run: RunSummary;
  index: number;
  here: boolean;
  picked: boolean | null;
  onAt: (row: number) => void;
  onPick: (ids: string[], on: boolean) => void;
  now: number;
}

const Row = memo(function Row({ run, index, here, picked, onAt, onPick, now }: RowProps): ReactNode {
  const { t, f, runWord } = useWords();
  const key = run.key ?? run.id;
  return (
    <tr aria-rowindex={index + 2} aria-current={here || undefined} aria-selected={picked ?? undefined} className={here ? "row-at" : ""}
      onClick={(event) => { if (!(event.target as Element).closest("a, button, label")) { onAt(index); go(`/runs/${run.id}`); } }}>
      {picked !== null && <td className="cell-pick"><Pick label={t.runs.batch.pick(`${run.title} ${key}`)} on={picked} onPick={(on) => onPick([run.id], on)} /></td>}
      <td className="cell-badge"><Badge tone={run.tone} state={run.state}>{runWord(run)}</Badge></td>
      <td className="cell-name"><Link to={`/runs/${run.id}`}>{run.title}</Link> <span className="dim"><Copyable text={key} show={run.key ? cut(run.key) : run.id.slice(0, 9)} /></span></td>
      <td className="cell-why"><span className="cut"><Rich text={sentenceOf(run, { t, f, now })} /></span>{run.more_why > 0 && <span className="dim"> {t.why.andMore(run.more_why)}</span>}</td>
      <td className="mono dim cell-node">{run.node ?? "–"}</td>
      <td className="num dim cell-when"><time dateTime={run.started_at} title={f.title(run.started_at)}>{f.ago(run.started_at, now)}</time></td>
      <td className="num cell-active">{f.duration(run.active_ms)}</td>
      <td className="num dim cell-version">{run.version === null ? "–" : `v${run.version}`}</td>
    </tr>
  );
});

const cut = (key: string): string => (key.length > 28 ? `${key.slice(0, 27)}…` : key);

/** Why a run waits, or its result. */
export function sentenceOf(run: RunSummary, speaker: Parameters<typeof whySentence>[1]): string {
  if (run.why) return whySentence(run.why, speaker);
  return run.state === "COMPLETED" && run.result ? run.result : runSentence(run, speaker);
}
