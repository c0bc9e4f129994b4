/** A discovered model against the version it was mined from: the drawing, the changes, and the decision. */
import { CalendarDays, Check, CircleX, FileBraces, GitCompareArrows, Hash, Hourglass, List, Maximize, Minimize, Play, Workflow } from "lucide-react";
import { lazy, Suspense, useState, type ReactNode } from "react";
import { useGet, useLast } from "../../../api/cache";
import { Badge, Button, Failed, Segment, Skeleton } from "../../../components";
import { useNarrow } from "../../../components/useNarrow";
import { definitionPath } from "../../../definitions/requests";
import { useFrame } from "../../../shell/chrome";
import { useKeys } from "../../../shell/keys";
import { Link, setSearch, useParam, useSearch } from "../../../shell/router";
import { Rich } from "../../../words/rich";
import { useReplay } from "../replay";
import { diffPath, mapPath, MINING_PAGE } from "../requests";
import { changeText, periodText, ratioOf, useMiningWords } from "../speech";
import type { MiningMap, ModelDiff } from "../types";
import { ChangeRows } from "./ChangeRows";
import type { Look } from "./changeMarks";
import { DecisionPanel, nextVersion } from "./DecisionPanel";

const DiffDrawing = lazy(() => import("./DiffDrawing"));

export default function DiffPage({ id, model }: { id: string; model: string }): ReactNode {
  const { m } = useMiningWords();
  const { data, error, reload } = useGet<ModelDiff>(diffPath(id, model));
  const diff = useLast(data);
  useFrame([{ text: m.title, to: MINING_PAGE }, { text: diff?.name ?? id, to: `${MINING_PAGE}/${encodeURIComponent(id)}` }, { text: diff ? m.diff.crumb(diff.base_version, nextVersion(diff)) : model }]);
  if (error && !diff) return <Failed page error={error} retry={reload} />;
  if (!diff) return <div className="pad"><Skeleton h={60} n={2} /><Skeleton h={420} /></div>;
  return <Loaded diff={diff} />;
}

function Loaded({ diff }: { diff: ModelDiff }): ReactNode {
  const [changeText] = useParam("change");
  const number = changeText && /^\d+$/.test(changeText) ? Number(changeText) - 1 : null;
  const chosen = number !== null && diff.changes[number] ? number : null;
  const choose = (change: number | null) => setSearch({ change: change === null ? null : String(change + 1) });
  const step = (by: 1 | -1) => diff.changes.length > 0 && choose(Math.max(0, Math.min(diff.changes.length - 1, chosen === null ? (by > 0 ? 0 : diff.changes.length - 1) : chosen + by)));
  useKeys({ j: () => step(1), k: () => step(-1), Escape: () => choose(null) });
  return (
    <div className="mine">
      <Head diff={diff} />
      <Sentence diff={diff} />
      <div className="mine-body mine-diff-body">
        <div className="mine-left">
          <Picture diff={diff} chosen={chosen} onChoose={choose} />
          <ChangeRows diff={diff} chosen={chosen} onChoose={choose} />
        </div>
        <DecisionPanel diff={diff} />
      </div>
    </div>
  );
}

const isWaiting = ({ approval_status: status }: ModelDiff): boolean => status === "pending";

function Head({ diff }: { diff: ModelDiff }): ReactNode {
  const { m, f } = useMiningWords();
  const d = m.diff;
  const status = isWaiting(diff) ? <Badge tone="held" icon={Hourglass}>{d.pending}</Badge> : diff.approval_status === "rejected" ? <Badge tone="failed" icon={CircleX}>{d.rejected}</Badge> : <Badge tone="done" icon={Check}>{d.approved}</Badge>;
  return (
    <header className="mine-head">
      <div>
        <h1>{d.title(diff.base_version)} {status}</h1>
        <p className="mine-about">
          <span>{diff.name}</span>
          {d.algorithms[diff.algorithm] ? <span>{d.algorithms[diff.algorithm]}</span> : diff.algorithm && <span className="mono">{diff.algorithm}</span>}
          <span><CalendarDays size={14} aria-hidden />{periodText(diff, m, f)} · {d.counted(f.number(diff.cases), f.number(diff.events))}</span>
          {diff.precision !== null && <span>{d.precision(ratioOf(diff.precision))}</span>}
        </p>
      </div>
      <div className="mine-acts"><Link className="btn btn-plain" to={definitionPath(diff.model_id, diff.model_version)}><FileBraces size={15} aria-hidden />{d.edit}</Link></div>
    </header>
  );
}

function Sentence({ diff }: { diff: ModelDiff }): ReactNode {
  const { m, f } = useMiningWords();
  const d = m.diff;
  const more = diff.replay.model_fit - diff.replay.base_fit;
  const next = nextVersion(diff);
  const waiting = isWaiting(diff);
  const text = waiting ? d.waits(next) + (diff.changes.length === 0 ? d.same : d.differs(diff.changes.length, more > 0 ? f.number(more) : null)) + d.nothing : diff.approval_status === "rejected" ? d.isRejected : d.isApproved(next);
  return <div className={`mine-banner ${waiting ? "tone-held" : diff.approval_status === "rejected" ? "tone-idle" : "tone-done"}`}><GitCompareArrows size={18} aria-hidden /><p className="grow"><Rich text={text} /></p></div>;
}

type Overlay = "none" | "counts" | "replay";

function Picture({ diff, chosen, onChoose }: { diff: ModelDiff; chosen: number | null; onChoose: (change: number | null) => void }): ReactNode {
  const { m, f } = useMiningWords();
  const d = m.diff;
  const narrow = useNarrow();
  const search = useSearch();
  const look: Look = (["base", "model"] as const).find((each) => each === search.get("look")) ?? "diff";
  const overlay: Overlay = (["counts", "replay"] as const).find((each) => each === search.get("over")) ?? "none";
  const [failed, setFailed] = useState(false);
  const [full, setFull] = useState(false);
  const view = failed || search.get("view") === "list" || (narrow && search.get("view") !== "bpmn") ? "list" : "bpmn";
  const { data: history } = useGet<MiningMap>(overlay === "none" ? null : mapPath(diff.id, { from: null, to: null, log: null }));
  const tokens = useReplay(history?.variants ?? NONE, overlay === "replay" && view === "bpmn" && history !== undefined, () => setSearch({ over: null }));
  const over = (wanted: Overlay) => setSearch({ over: overlay === wanted ? null : wanted });
  const now = tokens.at(-1);
  useKeys(full ? { Escape: () => setFull(false) } : {});
  return (
    <section className={`mine-canvas ${full ? "mine-full" : ""} ${view === "list" ? "mine-as-list" : ""}`} aria-label={d.canvas}>
      <div className="mine-tools">
        {view === "bpmn" && <Segment<Look> label={d.looks} value={look} onChange={(next) => setSearch({ look: next === "diff" ? null : next })} options={[{ id: "diff", text: d.diff, icon: GitCompareArrows }, { id: "base", text: `v${diff.base_version}` }, { id: "model", text: `v${nextVersion(diff)}` }]} />}
        {view === "bpmn" && <div className="segment" role="group" aria-label={d.overlays}><button type="button" aria-pressed={overlay === "counts"} onClick={() => over("counts")}><Hash size={14} aria-hidden />{d.counts}</button><button type="button" aria-pressed={overlay === "replay"} onClick={() => over("replay")}><Play size={14} aria-hidden />{d.replay}</button></div>}
        <span className="grow" />
        {!failed && <Segment<"bpmn" | "list"> label={d.picture} value={view} onChange={(next) => setSearch({ view: next === (narrow ? "list" : "bpmn") ? null : next })} options={[{ id: "bpmn", text: d.bpmn, icon: Workflow }, { id: "list", text: d.list, icon: List }]} />}
        <Button className="mine-square" aria-label={full ? m.exitFull : m.full} title={full ? m.exitFull : m.full} aria-pressed={full} onClick={() => setFull(!full)}>{full ? <Minimize size={16} aria-hidden /> : <Maximize size={16} aria-hidden />}</Button>
      </div>
      {view === "list" ? <ChangeList diff={diff} failed={failed} /> : (
        <>
          <Suspense fallback={<div className="pad"><Skeleton h={300} /></div>}><DiffDrawing diff={diff} look={look} chosen={chosen} counted={overlay === "counts" ? (history ?? null) : null} tokens={tokens} onChoose={onChoose} onFail={() => setFailed(true)} /></Suspense>
          {look === "diff" && <p className="mine-diff-key">{(["added", "removed", "changed", "same"] as const).map((kind) => <span key={kind}><i className={`mine-line-${kind}`} aria-hidden />{d.legend[kind]}</span>)}</p>}
          {now && <p className="mine-playing" role="status"><span>{m.replaying(now.variant.rank, f.number(now.variant.cases))}</span> <span className="dim">{m.replayStep(now.variant.activities[now.step] ?? m.end)}</span></p>}
        </>
      )}
    </section>
  );
}

const NONE: MiningMap["variants"] = [];

/** The same as the drawing says, in words: each change with its elements. */
function ChangeList({ diff, failed }: { diff: ModelDiff; failed: boolean }): ReactNode {
  const { m, f } = useMiningWords();
  const d = m.diff;
  return (
    <div className="mine-list" tabIndex={0} role="region" aria-label={d.list}>
      {failed && <p className="dim">{d.noDrawing}</p>}
      <section className="card">
        <table className="mine-table">
          <caption>{d.changes(diff.changes.length)}</caption>
          <thead><tr><th scope="col">{d.looks}</th><th scope="col">{d.diff}</th><th scope="col" className="num">{d.seenIn}</th><th scope="col" className="num">{d.saves}</th></tr></thead>
          <tbody>{diff.changes.map((change, i) => <tr key={i}><th scope="row">{d.kinds[change.kind]}: {changeText(change, m).title}</th><td>{changeText(change, m).detail} <span className="mono dim">{change.elements.join(", ")}</span></td><td className="num" data-label={d.seenIn}>{d.runs(f.number(change.cases))}</td><td className="num" data-label={d.saves}>{change.saved_ms_per_week === null ? "–" : f.duration(change.saved_ms_per_week)}</td></tr>)}</tbody>
        </table>
      </section>
    </div>
  );
}
