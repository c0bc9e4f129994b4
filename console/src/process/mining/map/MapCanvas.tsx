/** The map with its tools: what colours show, map or list, full screen, zoom, legend and sliders. */
import { Flame, GitFork, Hash, List, Maximize, Minimize, Minus, Plus, Users, Hourglass } from "lucide-react";
import { useEffect, useMemo, useRef, useState, type ReactNode, type RefObject } from "react";
import { Button, Segment } from "../../../components";
import { useNarrow } from "../../../components/useNarrow";
import { useKeys } from "../../../shell/keys";
import { setSearch, useParam } from "../../../shell/router";
import { useReplay } from "../replay";
import { useMiningWords } from "../speech";
import { flowKey, type MiningMap, type Variant } from "../types";
import { ActivityMap, CALLOUT_GAP, CALLOUT_WIDTH, type MapMode } from "./ActivityMap";
import { BottleneckCard } from "./BottleneckCard";
import { Legend, MapSliders } from "./MapKey";
import { MapList } from "./MapList";
import { mapLayout, NODE_WIDTH } from "./mapLayout";
import type { Shown } from "./shown";

interface Props {
  map: MiningMap;
  shown: Shown;
  variant: Variant | null;
  playing: boolean;
  onPlaying: (playing: boolean) => void;
}

const MODES: MapMode[] = ["count", "time", "people"];
const ICONS = { count: Hash, time: Flame, people: Users } as const;
/** Of the legend and the sliders, with the room around them. */
const KEY_WIDTH = 318;
const SMALLEST = 0.45;
const LARGEST = 1.6;

export function MapCanvas({ map, shown, variant, playing, onPlaying }: Props): ReactNode {
  const { m, f } = useMiningWords();
  const [modeText, setMode] = useParam("mode");
  const mode: MapMode = MODES.find((each) => each === modeText) ?? "time";
  const [viewText, setView] = useParam("view");
  const narrow = useNarrow();
  const view = viewText === "list" || (narrow && viewText !== "map") ? "list" : "map";
  const [full, setFull] = useState(false);
  const [callout, setCallout] = useState(true);
  const [dragged, setDragged] = useState<number | null>(null);
  const layout = useMemo(() => mapLayout(shown.activities, shown.flows, map.variants), [shown.activities, shown.flows, map.variants]);
  const fading = useMemo(() => new Set(dragged === null ? [] : shown.flows.slice(dragged).map(flowKey)), [shown.flows, dragged]);
  const tokens = useReplay(map.variants, playing && view === "map", () => onPlaying(false));
  const hasCallout = callout && !narrow && map.bottleneck !== null;
  const width = layout.width + (hasCallout ? CALLOUT_WIDTH + CALLOUT_GAP : 0);
  const room = useRef<HTMLDivElement>(null);
  const { zoom, roomWidth, step, fit } = useZoom(room, view, width, layout.height);
  useKeys({ f: fit, ...(full ? { Escape: () => setFull(false) } : {}) });
  const now = tokens.at(-1);
  // the spine stands beside the key, not under it
  const beside = narrow ? 0 : Math.max(0, Math.min(KEY_WIDTH - (layout.begin.x - NODE_WIDTH / 2) * zoom, roomWidth - width * zoom));
  return (
    <section className={`mine-canvas ${full ? "mine-full" : ""} ${view === "list" ? "mine-as-list" : ""}`} aria-label={m.canvas}>
      <div className="mine-tools">
        {view === "map" && <Segment<MapMode> label={m.mode.label} value={mode} onChange={(next) => setMode(next === "time" ? null : next)} options={MODES.map((id) => ({ id, text: m.mode[id], icon: ICONS[id] }))} />}
        {view === "map" && map.bottleneck && !callout && <Button icon={Hourglass} onClick={() => setCallout(true)}>{m.bottleneck.show}</Button>}
        <span className="grow" />
        <Segment<"map" | "list"> label={m.view.label} value={view} onChange={(next) => setView(next === (narrow ? "list" : "map") ? null : next)} options={[{ id: "map", text: m.view.map, icon: GitFork }, { id: "list", text: m.view.list, icon: List }]} />
        <Button className="mine-square" aria-label={full ? m.exitFull : m.full} title={full ? m.exitFull : m.full} aria-pressed={full} onClick={() => setFull(!full)}>{full ? <Minimize size={16} aria-hidden /> : <Maximize size={16} aria-hidden />}</Button>
      </div>
      {view === "list" ? <>{narrow && map.bottleneck && <BottleneckCard map={map} bottleneck={map.bottleneck} />}<MapList map={map} shown={shown} /></> : (
        <>
          <div className="mine-scroll" style={{ paddingLeft: beside }} ref={room} tabIndex={0} role="region" aria-label={m.canvas}>
            <ActivityMap map={map} layout={layout} activities={shown.activities} mode={mode} fading={fading} variant={variant} tokens={tokens} zoom={zoom} callout={hasCallout} onCallout={setCallout} />
          </div>
          <div className="mine-keys">
            <Legend mode={mode} />
            <MapSliders map={map} shown={shown} onDrag={setDragged} onSteps={(steps) => setSearch({ steps: steps === null ? null : String(steps) })} onPaths={(paths) => setSearch({ paths: paths === null ? null : String(paths) })} />
          </div>
          <div className="net-zoom mine-zoom">
            <button type="button" aria-label={m.zoomOut} onClick={() => step(-1)}><Minus size={14} aria-hidden /></button>
            <span>{Math.round(zoom * 100)}%</span>
            <button type="button" aria-label={m.zoomIn} onClick={() => step(1)}><Plus size={14} aria-hidden /></button>
            <button type="button" aria-label={m.fit} title={`${m.fit} (f)`} onClick={fit}><Maximize size={13} aria-hidden /></button>
          </div>
          {now && <p className="mine-playing" role="status"><span>{m.replaying(now.variant.rank, f.number(now.variant.cases))}</span> <span className="dim">{m.replayStep(now.variant.activities[now.step] ?? m.end)}</span></p>}
        </>
      )}
    </section>
  );
}

/** The zoom at which all of it is seen, until somebody chooses another. */
function useZoom(room: RefObject<HTMLDivElement | null>, view: string, width: number, height: number): { zoom: number; roomWidth: number; step: (by: 1 | -1) => void; fit: () => void } {
  const [size, setSize] = useState<{ w: number; h: number } | null>(null);
  const [chosen, setChosen] = useState<number | null>(null);
  useEffect(() => {
    if (!room.current) return;
    const observer = new ResizeObserver(([entry]) => entry && setSize({ w: entry.target.clientWidth, h: entry.target.clientHeight }));
    observer.observe(room.current);
    return () => observer.disconnect();
  }, [view]);
  const fitted = size ? Math.max(SMALLEST, Math.min(1, size.w / width, size.h / height)) : 1;
  const zoom = chosen ?? fitted;
  return { zoom, roomWidth: size?.w ?? 0, step: (by) => setChosen(Math.max(SMALLEST, Math.min(LARGEST, Math.round((zoom + by * 0.1) * 10) / 10))), fit: () => setChosen(null) };
}
