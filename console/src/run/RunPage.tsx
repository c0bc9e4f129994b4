/** One run: header, drawing, timeline and panel share one selected node and one playhead, both kept in the address. */
import "./run.css";
import { CircleDot, Flame, Hash, List, Waypoints } from "lucide-react";
import { lazy, Suspense, useEffect, useMemo, useState, type ReactNode } from "react";
import { useGet } from "../api/cache";
import { useFile } from "../api/file";
import type { Fact, Graph, Run } from "../api/types";
import { languageOf, useRunParts } from "../languages";
import type { RunParts } from "../languages/contract";
import { labelOf } from "../net/label";
import { NetList } from "../net/NetList";
import type { CanvasMode } from "../net/view";
import { ViewSwitch, type DrawingView } from "../net/ViewSwitch";
import { Button, Failed, Segment, Skeleton } from "../components";
import { useNarrow } from "../components/useNarrow";
import { useFrame } from "../shell/chrome";
import { useKeys } from "../shell/keys";
import { go, setSearch, useParam, useSearch } from "../shell/router";
import { useWords } from "../words";
import { authorOf } from "./factText";
import { useAllFirings } from "./firings";
import { Header } from "./Header";
import { useMoves } from "./moves";
import { Panel } from "./Panel";
import { Timeline } from "./Timeline";
import { useFacts, useMoment, useMoments } from "./timeTravel";

// loaded while the run is fetched; a phone shows a list and needs no canvas
const canvas = matchMedia("(max-width: 720px)").matches ? null : import("../net/Canvas");
const Canvas = lazy(() => canvas ?? import("../net/Canvas"));
const SPEEDS = [1, 2, 4];

export default function RunPage({ id }: { id: string }): ReactNode {
  const { t } = useWords();
  const answer = useGet<Run>(`/runs/${encodeURIComponent(id)}`);
  const run = useAllFirings(answer.data);
  const parts = useRunParts(run?.language);
  const way = run && parts?.crumbs ? parts.crumbs(run, t) : [{ text: t.nav.runs, to: "/runs" }, ...(run ? [{ text: run.title, to: `/runs?name=${encodeURIComponent(run.name)}` }] : [])];
  useFrame([...way, { text: (!parts?.crumbs && run?.key) || id.slice(0, 9).replace(/-$/, ""), mono: true }], useSearch().has("at"));
  if (!run || !parts) return answer.error && !run ? <Failed page error={answer.error} retry={answer.reload} /> : <div className="pad"><Skeleton h={60} n={2} /><Skeleton h={360} /></div>;
  return <RunView run={run} parts={parts} />;
}

function RunView({ run, parts }: { run: Run; parts: RunParts }): ReactNode {
  const { t, typeWord } = useWords();
  const search = useSearch();
  const [wanted, setAt] = useParam("at");
  const [mode, setMode] = useParam("mode");
  const at = wanted !== null && /^\d+$/.test(wanted) ? Math.min(Math.max(1, Number(wanted)), run.facts) : null;
  const phone = useNarrow();
  const [broken, setBroken] = useState(false);
  const drawing = languageOf(run.language).drawing ?? null;
  const file = useFile(drawing && !phone && run.definition.version !== null ? drawing.path(run.definition.name, run.definition.version) : null);
  const [unreadable, setUnreadable] = useState(false);
  const source = unreadable ? null : file.text;
  const wantedView = search.get("view");
  const asList = wantedView === "list" || phone || broken;
  const drawn = drawing && (source || !file.none) && wantedView !== "net" && !unreadable ? drawing : null;
  const view: DrawingView = asList ? "list" : drawn ? drawn.view : "net";
  const folded = search.get("scale") !== "true";
  const moment = useMoment(run.id, at);
  const facts = useFacts(run.id, run.facts, at);
  const moments = useMoments(run.id);
  const { graph } = moment;
  // A failed run opens on its failed node; else on what holds it; in the past on what happens there.
  const then = at === null ? null : authorAt(facts, at, graph);
  const node = search.has("node") ? search.get("node") || null : (then ?? run.failure?.node ?? run.why[0]?.node ?? null);
  const pick = (id: string | null) => setSearch({ node: id });
  const nodes = useMemo(() => new Map(graph?.nodes.map((drawnNode) => [drawnNode.id, { ...drawnNode, label: labelOf(drawnNode, typeWord(run.language, drawnNode.type)) }])), [graph?.nodes, run.language, typeWord]);
  const since = useMemo(() => (at === null ? Object.fromEntries(run.why.flatMap((why) => (why.node && why.since && why.rank > 4 ? [[why.node, why.since]] : []))) : {}), [run.why, at]);
  const notes = parts.useNotes?.(run);
  const { ask, dialog } = useMoves(run);
  const live = () => setAt(null);
  const [speed, setSpeed] = useState(0);
  const [playing, setPlaying] = usePlay(run, at, SPEEDS[speed] ?? 1);
  const { Middle } = parts;
  const Head = at === null ? (parts.Header ?? Header) : Header;
  useKeys({ Escape: () => (at !== null ? live() : go(parts.crumbs?.(run, t)[0]?.to ?? "/runs")) });
  const z = search.get("z")?.split(",").map(Number);
  const viewport = z?.length === 3 && z.every(Number.isFinite) ? { x: z[0] as number, y: z[1] as number, zoom: z[2] as number } : null;
  return (
    <div className={`run ${at !== null ? "run-past" : ""}`}>
      <Head run={run} graph={graph} at={at} ask={ask} onLive={live} />
      <div className="run-body">
        <div className={`run-main ${Middle ? "run-main-three" : ""}`}>
          <section className="run-net" aria-label={t.run.canvas}>
            <div className="run-tools">
              {!asList && <Segment<CanvasMode> label={t.run.mode.label} value={(mode as CanvasMode | null) ?? "tokens"} onChange={(value) => setMode(value === "tokens" ? null : value)} options={[
                { id: "tokens", text: t.run.mode.tokens, icon: CircleDot }, { id: "time", text: t.run.mode.time, icon: Flame }, { id: "counts", text: t.run.mode.counts, icon: Hash }]} />}
              <span className="grow" />
              {drawing && !phone && !broken && !file.none && <div className="as-list"><ViewSwitch view={view} drawing={source ? drawing : null} onView={(next) => setSearch({ view: next === (source ? drawing.view : "net") ? null : next })} /></div>}
              {!(drawing && !file.none) && !phone && !broken && <Button className={asList ? "" : "as-list"} icon={asList ? Waypoints : List} onClick={() => setSearch({ view: asList ? null : "list" })}>{asList ? t.run.asNet : t.run.asList}</Button>}
            </div>
            {broken && <p className="dim pad">{t.run.netFailed}</p>}
            {!graph ? <div className="pad">{moment.error ? <Failed error={moment.error} /> : <Skeleton h={48} n={3} />}</div>
              : asList ? <NetList graph={graph} selected={node} onPick={pick} />
              : drawn ? (source && <Suspense fallback={null}><drawn.View source={source} graph={graph} mode={(mode as CanvasMode | null) ?? "tokens"} selected={node} since={since} onPick={pick} onFail={() => setUnreadable(true)} /></Suspense>)
              : <Suspense fallback={null}><Canvas graph={graph} mode={(mode as CanvasMode | null) ?? "tokens"} selected={node} past={at !== null} since={since} notes={at === null ? notes : undefined} viewport={viewport} onPick={pick} onFail={() => setBroken(true)} /></Suspense>}
          </section>
          {Middle && <Middle run={run} node={node} onPick={pick} />}
          <Timeline title={parts.timeline?.(run, t) ?? { name: t.run.timeline, about: t.run.timelineSub(run.firing_count, run.attempt_count, run.facts) }} run={run} facts={facts} moments={moments} nodes={nodes} at={at} folded={folded} playing={playing} speed={SPEEDS[speed] ?? 1} selected={node}
            onFold={(value) => setSearch({ scale: value ? null : "true" })} onAt={(next) => setAt(next === null ? null : String(next))} onPlay={setPlaying} onSpeed={() => setSpeed((speed + 1) % SPEEDS.length)} onPick={pick} />
        </div>
        <Panel run={run} parts={parts} graph={graph} facts={facts} node={node} at={at} changed={moment.changed} />
      </div>
      {dialog}
    </div>
  );
}

/** The author's node of the latest fact that is about one. */
function authorAt(facts: Fact[], at: number, graph: Graph | undefined): string | null {
  const known = new Set(graph?.nodes.map((node) => node.id));
  for (let i = facts.findLastIndex((fact) => fact.seq <= at); i >= 0; i--) {
    const node = authorOf(facts[i] as Fact, (id) => known.has(id));
    if (node) return node;
  }
  return null;
}

/** Steps through the facts until the present is reached. */
function usePlay(run: Run, at: number | null, speed: number): [boolean, (playing: boolean) => void] {
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return;
    if (at === null) {
      setPlaying(false);
      return;
    }
    const timer = window.setTimeout(() => setSearch({ at: at + 1 >= run.facts ? null : String(at + 1) }), 320 / speed);
    return () => window.clearTimeout(timer);
  }, [playing, at, run.facts, speed]);
  const set = (next: boolean) => {
    if (next && at === null) setSearch({ at: "1" }); // from the beginning
    setPlaying(next);
  };
  return [playing, set];
}
