/** The map drawn: activities as buttons, paths as wide as they were frequent and coloured by what one looks at. */
import { Bot, CircleHelp, UserRound, UsersRound, type LucideIcon } from "lucide-react";
import { memo, useMemo, type KeyboardEvent, type ReactNode } from "react";
import type { ReplayToken } from "../replay";
import { STEP_MS } from "../replay";
import { useParam } from "../../../shell/router";
import { useMiningWords, whoText } from "../speech";
import { flowKey, flowsOf, type ActivityStats, type MiningMap, type Variant } from "../types";
import { BottleneckCard } from "./BottleneckCard";
import { END_RADIUS, NODE_HEIGHT, NODE_WIDTH, wayPath, type MapLayout, type Way } from "./mapLayout";
import { agentShare, countStep, mostOf, waitStep, widthOf, workStep } from "./scale";

export type MapMode = "count" | "time" | "people";

interface Props {
  map: MiningMap;
  layout: MapLayout;
  activities: ActivityStats[];
  mode: MapMode;
  /** Paths that the slider is about to hide. */
  fading: ReadonlySet<string>;
  /** Drawn on the map; everything else is dimmed. */
  variant: Variant | null;
  tokens: ReplayToken[];
  zoom: number;
  callout: boolean;
  onCallout: (shown: boolean) => void;
}

/** Of the callout of the bottleneck, which stands in the margin of the map. */
export const CALLOUT_WIDTH = 256;
const CALLOUT_HEIGHT = 196;
export const CALLOUT_GAP = -14;
const INTO_MARGIN = 20;

export function ActivityMap({ map, layout, activities, mode, fading, variant, tokens, zoom, callout, onCallout }: Props): ReactNode {
  const { m } = useMiningWords();
  const most = useMemo(() => mostOf(map.flows), [map.flows]);
  const [focus, setFocus] = useParam("focus");
  const drawn = useMemo(() => (variant ? new Set(flowsOf(variant).map(flowKey)) : null), [variant]);
  const deviating = useMemo(() => new Set(variant?.deviating.map((at) => variant.activities[at])), [variant]);
  const mostTimes = Math.max(1, ...map.activities.map(({ count }) => count));
  const narrow = map.bottleneck;
  const way = narrow && layout.ways.find(({ flow }) => flowKey(flow) === flowKey(narrow));
  const isOff = ({ flow }: Way) => fading.has(flowKey(flow)) || (drawn !== null ? !drawn.has(flowKey(flow)) : focus !== null && flow.source !== focus && flow.target !== focus);
  const width = layout.width + (way && callout ? CALLOUT_WIDTH + CALLOUT_GAP : 0);
  const move = (name: string, event: KeyboardEvent<HTMLElement>) => {
    const forward = event.key === "ArrowDown" || event.key === "ArrowRight";
    if (!forward && event.key !== "ArrowUp" && event.key !== "ArrowLeft") return;
    event.preventDefault();
    event.stopPropagation();
    const ways = layout.ways.filter(({ flow }) => (forward ? flow.source : flow.target) === name && flow.source !== flow.target).sort((a, b) => b.flow.count - a.flow.count);
    const next = ways.map(({ flow }) => (forward ? flow.target : flow.source)).find((other) => other !== "");
    if (next) event.currentTarget.parentElement?.querySelector<HTMLElement>(`[data-step="${CSS.escape(next)}"]`)?.focus();
  };
  return (
    <div className="mine-room" style={{ width: width * zoom, height: layout.height * zoom }}>
      <div className={`mine-map mine-by-${mode} ${variant ? "mine-has-variant" : ""}`} role="group" aria-label={m.canvas} style={{ width, height: layout.height, transform: `scale(${zoom})` }}>
        <svg width={width} height={layout.height} aria-hidden>
          <circle className="mine-begin" cx={layout.begin.x} cy={layout.begin.y} r={END_RADIUS} />
          <circle className="mine-end" cx={layout.end.x} cy={layout.end.y} r={END_RADIUS} />
          {[...layout.ways].sort((a, b) => a.flow.count - b.flow.count).map((each) => <Path key={flowKey(each.flow)} way={each} most={most} off={isOff(each)} on={drawn?.has(flowKey(each.flow)) ?? false} narrow={each === way} />)}
          {layout.ways.map((each) => <Numbers key={flowKey(each.flow)} way={each} off={isOff(each)} narrow={each === way} />)}
          {way && callout && <path className="mine-lead" d={`M${way.label.x + LEAD} ${way.label.y} H${layout.width - INTO_MARGIN}`} />}
          {way && callout && <circle className="mine-lead-dot" cx={way.label.x + LEAD} cy={way.label.y} r={3} />}
        </svg>
        {activities.map((activity) => {
          const spot = layout.nodes.get(activity.name);
          return spot && <Step key={activity.name} activity={activity} x={spot.x} y={spot.y} mode={mode} most={mostTimes} narrow={narrow?.target === activity.name} off={variant !== null && !variant.activities.includes(activity.name)} bad={deviating.has(activity.name)} focused={focus === activity.name} onFocus={setFocus} onMove={move} />;
        })}
        {tokens.map((token) => <Drop key={`${token.key} ${token.step}`} token={token} layout={layout} />)}
        {way && narrow && callout && <BottleneckCard map={map} bottleneck={narrow} style={{ left: layout.width - INTO_MARGIN, top: clamp(way.label.y - CALLOUT_HEIGHT / 2, 60, layout.height - CALLOUT_HEIGHT - 10), width: CALLOUT_WIDTH }} onClose={() => onCallout(false)} />}
      </div>
    </div>
  );
}

/** Where the line to the callout begins, behind the numbers. */
const LEAD = 106;
const clamp = (value: number, least: number, most: number): number => Math.max(least, Math.min(most, value));

const Path = memo(function Path({ way, most, off, on, narrow }: { way: Way; most: number; off: boolean; on: boolean; narrow: boolean }): ReactNode {
  const width = widthOf(way.flow.count, most);
  const [length, half] = [6 + width, 4 + width * 0.75];
  const classes = ["mine-way", `mine-wait-${way.flow.median_wait_ms === null ? 0 : waitStep(way.flow.median_wait_ms)}`, `mine-times-${countStep(way.flow.count, most)}`, off && "mine-off", on && "mine-on", narrow && "mine-narrow"];
  return (
    <g className={classes.filter(Boolean).join(" ")} data-flow={flowKey(way.flow)}>
      <path d={wayPath(way, length - 1)} strokeWidth={width} />
      <polygon points={`0,0 ${-length},${-half} ${-length},${half}`} transform={`translate(${way.tip.x} ${way.tip.y}) rotate(${way.angle})`} />
    </g>
  );
});

const Numbers = memo(function Numbers({ way, off, narrow }: { way: Way; off: boolean; narrow: boolean }): ReactNode {
  const { f } = useMiningWords();
  const wait = way.flow.median_wait_ms;
  return (
    <text className={`mine-numbers ${off ? "mine-off" : ""} ${narrow ? "mine-narrow" : ""}`} x={way.label.x} y={way.label.y + 4} textAnchor={way.label.anchor}>
      <tspan className="mine-count">{f.number(way.flow.count)}</tspan>
      {wait !== null && <tspan dx={6} className={`mine-took mine-wait-${waitStep(wait)}`}>{f.duration(onMap(wait))}</tspan>}
    </text>
  );
});

/** Whole minutes and seconds: what fits beside a way; the list has the rest. */
const onMap = (ms: number): number => { const unit = ms < 60_000 ? 1000 : 60_000; return ms < 1000 ? ms : Math.round(ms / unit) * unit; };

const iconOf = (share: number | null): LucideIcon => (share === null ? CircleHelp : share === 0 ? UserRound : share === 1 ? Bot : UsersRound);

interface StepProps {
  activity: ActivityStats;
  x: number;
  y: number;
  mode: MapMode;
  most: number;
  narrow: boolean;
  off: boolean;
  bad: boolean;
  /** Only its own paths are drawn. */
  focused: boolean;
  onFocus: (name: string | null) => void;
  onMove: (name: string, event: KeyboardEvent<HTMLElement>) => void;
}

const Step = memo(function Step({ activity, x, y, mode, most, narrow, off, bad, focused, onFocus, onMove }: StepProps): ReactNode {
  const { f, m } = useMiningWords();
  const share = agentShare(activity);
  const Icon = iconOf(share);
  const work = activity.median_work_ms === null ? m.noWork : m.work(f.duration(onMap(activity.median_work_ms)));
  const strip = mode === "people" ? { background: `linear-gradient(to top, var(--mine-agent) ${100 * (share ?? 0)}%, var(--mine-human) 0)` } : undefined;
  const classes = ["mine-step", `mine-work-${workStep(activity.median_work_ms)}`, `mine-times-${countStep(activity.count, most)}`, narrow && "mine-narrow", off && "mine-off", bad && "mine-bad"];
  return (
    <button type="button" className={classes.filter(Boolean).join(" ")} data-step={activity.name} style={{ left: x, top: y, width: NODE_WIDTH, height: NODE_HEIGHT }} title={`${activity.name} · ${whoText(activity, m, f)}`} aria-pressed={focused} onClick={() => onFocus(focused ? null : activity.name)} onKeyDown={(event) => onMove(activity.name, event)}>
      <i style={strip} aria-hidden />
      <Icon size={15} strokeWidth={1.9} aria-hidden />
      <span className="mine-step-text"><b>{activity.name}</b><span>{m.times(f.number(activity.count))} · {work}</span></span>
      <span className="sr">, {whoText(activity, m, f)}</span>
    </button>
  );
});

/** A token that goes along a path once; where the path is hidden it is not seen. */
function Drop({ token, layout }: { token: ReplayToken; layout: MapLayout }): ReactNode {
  const flow = flowsOf(token.variant)[token.step];
  const way = flow && layout.ways.find((each) => flowKey(each.flow) === flowKey(flow));
  return way ? <span className={`mine-drop ${token.variant.fits === false ? "mine-drop-bad" : ""}`} style={{ offsetPath: `path("${wayPath(way)}")`, animationDuration: `${STEP_MS}ms` }} aria-hidden /> : null;
}
