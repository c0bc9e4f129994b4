/** The timeline: a row per firing, a bar per attempt, waits hatched and folded; its slider is the playhead. */
import { Pause, Play, StepBack, StepForward } from "lucide-react";
import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent, type ReactNode, type RefObject } from "react";
import type { Fact, Firing, GraphNode, Run } from "../api/types";
import { nodeIcon } from "../net/icons";
import { labelOf } from "../net/label";
import { textWidth } from "../net/size";
import { Segment } from "../components";
import { useNarrow } from "../components/useNarrow";
import { useKeys } from "../shell/keys";
import { useNow, useWords } from "../words";
import { factText } from "./factText";
import { placeLabels, sideOf, type Label } from "./labelPlacement";
import { scaleOf, type Scale } from "./timeAxis";
import type { Moments } from "./timeTravel";

interface Props {
  title: { name: string; about: string };
  run: Run;
  /** Those around the playhead. */
  facts: Fact[];
  /** Of the whole run. */
  moments: Moments;
  nodes: Map<string, GraphNode>;
  at: number | null;
  folded: boolean;
  playing: boolean;
  speed: number;
  selected: string | null;
  onFold: (folded: boolean) => void;
  onAt: (at: number | null) => void;
  onPlay: (playing: boolean) => void;
  onSpeed: () => void;
  onPick: (node: string) => void;
}

const ms = (time: string | null | undefined): number => (time ? Date.parse(time) : 0);

export function Timeline(props: Props): ReactNode {
  const { run, facts, at, folded, playing, speed, onAt } = props;
  const { t } = useWords();
  const ended = !!run.ended_at;
  const now = useNow(ended ? 60_000 : 1000);
  const scale = useMemo(() => axis(run, now, folded), [run, now, folded]);
  const count = run.facts;
  const step = (by: number) => {
    const next = Math.min(count, Math.max(1, (at ?? count) + by));
    onAt(next >= count && by > 0 ? null : next);
  };
  useKeys({ "[": () => step(-1), "]": () => step(1), Space: () => props.onPlay(!playing), l: () => onAt(null) });
  return (
    <section className="tl" aria-label={props.title.name}>
      <div className="tl-head">
        <h2>{props.title.name}</h2>
        <span className="dim">{props.title.about}</span>
        <span className="grow" />
        <button type="button" className="btn btn-icon" aria-label={t.run.previous} title={`${t.run.previous} [`} onClick={() => step(-1)}><StepBack size={16} aria-hidden /></button>
        <button type="button" className="btn btn-icon" aria-label={playing ? t.run.stop : t.run.play} onClick={() => props.onPlay(!playing)}>{playing ? <Pause size={16} aria-hidden /> : <Play size={16} aria-hidden />}</button>
        <button type="button" className="btn btn-icon" aria-label={t.run.next} title={`${t.run.next} ]`} onClick={() => step(1)}><StepForward size={16} aria-hidden /></button>
        <button type="button" className="btn btn-icon tl-speed" aria-label={`${t.run.speed} ${speed}×`} onClick={props.onSpeed}>{speed}×</button>
        <Segment label={t.run.timeline} value={folded ? "fold" : "true"} onChange={(value) => props.onFold(value === "fold")} options={[{ id: "fold", text: t.run.fold }, { id: "true", text: t.run.trueScale }]} />
      </div>
      <Rows {...props} facts={facts} scale={scale} now={now} />
    </section>
  );
}

function axis(run: Run, now: number, folded: boolean): Scale {
  const from = ms(run.started_at);
  const end = run.ended_at ? ms(run.ended_at) : now;
  const due = run.why.map((why) => ms(why.until)).filter((time) => time > end);
  const busy = run.firings.flatMap((firing): [number, number][] => {
    if (firing.attempts.length === 0 && firing.waits.length === 0) {
      const a = ms(firing.started_at);
      return a ? [[a, firing.ended_at ? Math.max(a + 1, ms(firing.ended_at)) : a + 1]] : [];
    }
    const tries = firing.attempts.map((attempt): [number, number] => [ms(attempt.started_at), attempt.ended_at ? ms(attempt.ended_at) : firing.waits.length ? ms(attempt.started_at) + 1 : end]);
    return tries.filter(([a]) => a > 0);
  });
  busy.push([from, from + 1], [end, end + 1]);
  return scaleOf(from, end, due.length && !run.ended_at ? Math.min(...due) : null, busy, folded);
}

function Rows({ run, facts, moments, nodes, at, scale, now, selected, onAt, onPick }: Props & { scale: Scale; now: number }): ReactNode {
  const { t, f } = useWords();
  const factTime = (n: number): number => {
    const exact = facts.find((fact) => fact.seq === n);
    return exact ? ms(exact.at) : (moments.timeOf(n) ?? scale.from);
  };
  const head = at === null ? (run.ended_at ? ms(run.ended_at) : now) : factTime(at);
  const past = at !== null;
  const label = (node: string) => nodes.get(node)?.label ?? node;
  const track = useRef<HTMLDivElement>(null);
  const seek = (event: PointerEvent) => {
    const box = track.current?.getBoundingClientRect();
    const time = scale.time(((event.clientX - (box?.left ?? 0)) / (box?.width || 1)));
    const near = moments.factBy(time);
    if (!box || near === null || (time >= head && at === null)) return;
    // among the facts that are held it is found exactly
    const exact = facts.findLast(({ at: when }) => ms(when) <= time);
    const fact = exact && exact.seq >= near && exact !== facts.at(-1) ? exact.seq : near;
    onAt(fact >= run.facts ? null : fact);
  };
  const drag = (event: PointerEvent<HTMLDivElement>) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    seek(event);
  };
  const key = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
    const to = event.key === "Home" ? 1 : event.key === "End" ? run.facts : by ? (at ?? run.facts) + by : null;
    if (to === null) return;
    event.preventDefault();
    const next = Math.min(run.facts, Math.max(1, to));
    onAt(next >= run.facts ? null : next);
  };
  const current = facts.find((fact) => fact.seq === (at ?? run.facts));
  const due = run.ended_at ? [] : run.why.filter((why) => why.until && ms(why.until) > now).slice(0, 1);
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const row = body.current?.querySelector<HTMLElement>("[data-here=true]");
    if (!row || !body.current) return;
    // only this box scrolls: scrollIntoView would move the page too
    const low = row.offsetTop + row.offsetHeight - body.current.clientHeight;
    if (body.current.scrollTop < low || body.current.scrollTop > row.offsetTop) body.current.scrollTop = Math.max(0, low + 8);
  }, [selected]);
  const step = (scale.ticks[1]?.at ?? 0) - (scale.ticks[0]?.at ?? 0);
  const tickText = (time: number, first: boolean): string => {
    if (first || step >= 60_000) return f.seconds(time);
    const seconds = (time / 1000) % 60;
    return `:${step < 1000 ? seconds.toFixed(step < 10 ? 3 : step < 100 ? 2 : 1).padStart(step < 10 ? 6 : step < 100 ? 5 : 4, "0") : String(Math.floor(seconds)).padStart(2, "0")}`;
  };
  const room = useRoom(track);
  // what matters most is placed first
  const times: Label[] = [
    { key: "now", look: "tl-now", text: f.seconds(head), at: scale.x(head) * room.width },
    ...due.map((why) => ({ key: "due", look: "tl-due-time", text: `${f.clock(why.until as string)} ${t.run.due}`, at: scale.x(ms(why.until)) * room.width, moves: true })),
    ...scale.folds.map((fold) => ({ key: `fold${fold.from}`, look: "tl-fold-time", text: f.duration(fold.to - fold.from, 1), at: fold.x * room.width })),
    ...scale.ticks.map((tick, i) => ({ key: `tick${tick.at}`, look: "", text: tickText(tick.at, i === 0), at: tick.x * room.width })),
  ];
  return (
    <div className={`tl-body ${past ? "tl-past" : ""}`} ref={body}>
      <div className="tl-axis">
        <div />
        <div className="tl-plot">
          <div className="tl-times" aria-hidden>
            {placeLabels(times, room.to).map((label) => <span key={label.key} className={label.look} style={{ left: label.left }}>{label.text}</span>)}
          </div>
          <div className="tl-track" ref={track} role="slider" tabIndex={0} aria-label={t.run.slider} aria-valuemin={1} aria-valuemax={Math.max(1, run.facts)} aria-valuenow={at ?? run.facts}
            aria-valuetext={t.run.factAt(at ?? run.facts, run.facts, f.seconds(head), current ? factText(current, label, t) : "")} onPointerDown={drag} onPointerMove={(event) => event.buttons === 1 && seek(event)} onKeyDown={key}>
            <div className="tl-line" />
            <div className="tl-gone" style={{ width: `${scale.x(head) * 100}%` }} />
            {ticks(run, moments, scale).map(({ x, bad }) => <i key={x} className={bad ? "tl-bad" : ""} style={{ left: `${x * 100}%` }} />)}
            {scale.folds.map((fold) => <span key={fold.from} className="tl-break" style={{ left: `${fold.x * 100}%` }} />)}
            <div className="tl-knob" style={{ left: `${scale.x(head) * 100}%` }} />
          </div>
        </div>
      </div>
      <div className="tl-rows">
        <div className="tl-grid" aria-hidden>
          <div /><div className="tl-plot">
            {scale.ticks.map((tick) => <i key={tick.at} style={{ left: `${tick.x * 100}%` }} />)}
            {scale.folds.map((fold) => <i key={fold.from} className="tl-fold" style={{ left: `${fold.x * 100}%` }} />)}
            {due.map((why) => <i key={why.until} className="tl-due" style={{ left: `${scale.x(ms(why.until)) * 100}%` }} />)}
            <i className="tl-head-line" style={{ left: `${scale.x(head) * 100}%` }} />
          </div>
        </div>
        {run.firings.length === 0 && <p className="dim pad">{t.run.noFirings}</p>}
        <ul>
          {run.firings.map((firing) => <Row key={firing.id} run={run} firing={firing} node={nodes.get(firing.node)} scale={scale} head={head} now={now} room={room} past={past} here={firing.node === selected} onPick={onPick} />)}
        </ul>
      </div>
    </div>
  );
}

interface Room {
  /** Of the plot, in px. */
  width: number;
  /** The last px for labels, a little beyond the end of the plot. */
  to: number;
}

function useRoom(plot: RefObject<HTMLElement | null>): Room {
  const narrow = useNarrow();
  const [width, setWidth] = useState(700);
  useEffect(() => {
    if (!plot.current) return;
    const watch = new ResizeObserver(([entry]) => entry && setWidth(entry.contentRect.width));
    watch.observe(plot.current);
    return () => watch.disconnect();
  }, [plot]);
  return { width, to: width + (narrow ? 20 : 58) };
}

/** Marks of facts, thinned out where they would lie on each other. */
function ticks(run: Run, moments: Moments, scale: Scale): { x: number; bad: boolean }[] {
  const out = new Map<number, boolean>();
  const place = (time: number) => Math.round(scale.x(time) * 400) / 400;
  for (const { at } of moments.all) out.set(place(at), false);
  for (const { attempts } of run.firings) for (const attempt of attempts) if (attempt.outcome === "failed" && attempt.ended_at) out.set(place(ms(attempt.ended_at)), true);
  return [...out].map(([x, bad]) => ({ x, bad }));
}

interface Bar {
  from: number;
  to: number;
  look: string;
  text: string;
  /** When there is no room for the text. */
  short?: string;
  beside: string;
  point?: boolean;
}

function Row({ run, firing, node, scale, head, now, room, past, here, onPick }: { run: Run; firing: Firing; node: GraphNode | undefined; scale: Scale; head: number; now: number; room: Room; past: boolean; here: boolean; onPick: (node: string) => void }): ReactNode {
  const { t, f, typeWord } = useWords();
  const Icon = nodeIcon(run.language, { icon: node?.icon, type: firing.type, shape: node?.shape ?? "task" });
  const started = ms(firing.started_at);
  const shown = !past || started <= head;
  const end = Math.min(head, run.ended_at ? ms(run.ended_at) : now);
  const bars = shown ? barsOf(firing, end, past, { t, f }) : [];
  const until = past || run.ended_at ? null : run.why.find((why) => why.node === firing.node && why.until && ms(why.until) > now)?.until;
  let taken = 0; // how far the bars and words so far reach, in px
  return (
    <li className={`tl-row tone-${firing.tone} ${node?.parent ? "tl-inside" : ""}`} data-here={here}>
      <button type="button" onClick={() => onPick(firing.node)} aria-pressed={here}>
        <Icon size={14} strokeWidth={1.9} aria-hidden />
        <span className="cut">{firing.node === ".start" ? t.definitions.begin : firing.label === firing.node ? (node ? labelOf(node, typeWord(run.language, node.type)) : firing.label) : firing.label}{firing.epoch > 0 ? ` · ${t.run.epoch(firing.epoch + 1)}` : firing.iteration !== null && firing.iteration > 1 ? ` · ${t.run.epoch(firing.iteration)}` : ""}</span>
      </button>
      <div className="tl-plot">
        {bars.map((bar, i) => {
          const [a, b] = [scale.x(bar.from), scale.x(bar.to)];
          if (bar.point) return <span key={i} className={`tl-point ${bar.look}`} style={{ left: `${a * 100}%` }}><i />{bar.beside && <span>{bar.beside}</span>}</span>;
          const [left, right] = [a * room.width, Math.max(b * room.width, a * room.width + 4)];
          const ahead = until && !firing.ended_at ? scale.x(end) * room.width : room.to;
          const free = { left: taken, right: i < bars.length - 1 ? scale.x(bars[i + 1]?.from ?? 0) * room.width : ahead };
          // a bar of success is labelled with its duration
          const beside = bar.look === "bar-done" ? bar.beside || bar.text : bar.text || bar.beside;
          const fits = sideOf(bar.text, { left, right }, { left, right });
          const side = fits === "inside" ? fits : sideOf(beside, { left, right }, free);
          taken = right + (side === "right" ? textWidth(beside, 11.5) + 12 : 0);
          const short = side === "none" && bar.short && right - left > textWidth(bar.short, 11.5) + 8;
          return (
            <span key={i} className={`tl-bar ${bar.look}`} style={{ left: `${a * 100}%`, width: `max(4px, ${(b - a) * 100}%)` }} title={[bar.text, bar.beside].filter(Boolean).join(" · ")}>
              {side === "inside" ? <span>{fits === "inside" ? bar.text : beside}</span> : short ? <span className="tl-short">{bar.short}</span> : null}
              {(side === "right" || side === "left") && <em className={side === "left" ? "em-left" : undefined}>{beside}</em>}
            </span>
          );
        })}
        {until && !firing.ended_at && <span className="tl-bar bar-ahead" style={{ left: `${scale.x(end) * 100}%`, width: `${(scale.x(ms(until)) - scale.x(end)) * 100}%` }} />}
      </div>
    </li>
  );
}

function barsOf(firing: Firing, end: number, past: boolean, { t, f }: Pick<ReturnType<typeof useWords>, "t" | "f">): Bar[] {
  const started = ms(firing.started_at);
  const ended = firing.ended_at ? ms(firing.ended_at) : null;
  const cut = (time: number) => Math.min(time, end);
  const many = firing.attempts.length > 1;
  const out: Bar[] = [];
  if (firing.kind === "route" || firing.kind === "start" || firing.kind === "end" || (ended !== null && ended - started < 1 && firing.attempts.length === 0 && firing.waits.length === 0))
    return [{ from: started, to: started, look: `bar-${firing.tone}`, text: "", beside: "", point: true }];
  for (const attempt of firing.attempts) {
    const a = ms(attempt.started_at);
    if (!a || a > end) continue;
    const open = !attempt.ended_at || ms(attempt.ended_at) > end;
    const b = open ? (firing.waits.length && !attempt.ended_at ? a : end) : ms(attempt.ended_at);
    const bad = attempt.outcome === "failed" && !open;
    const word = f.duration(b - a);
    if (open && firing.waits.length && !attempt.ended_at) continue;
    out.push({ from: a, to: b, look: bad ? "bar-failed" : open ? "bar-moving" : "bar-done", text: bad ? `× ${t.run.attemptN(attempt.n)} ${attempt.code ?? ""}` : many ? t.run.attemptN(attempt.n) : word, short: bad ? `× ${t.run.attemptN(attempt.n)}` : undefined, beside: word });
  }
  for (const wait of firing.waits) {
    const a = ms(wait.since);
    if (a >= end && past) continue;
    const open = !wait.until || (ended === null && ms(wait.until) > end);
    const b = open ? end : cut(ms(wait.until));
    const rest = wait.why === "backoff" || wait.why === "retry";
    if (!open && !rest && b - a < 1 && firing.attempts.length > 0) continue; // nobody has waited
    out.push({ from: a, to: b, look: rest ? "bar-rest" : "bar-held", text: rest ? t.run.backoff(f.duration(b - a, 1)) : t.run.waitingBar(f.duration(b - a)), beside: "" });
  }
  if (out.length === 0) out.push({ from: started, to: ended === null ? end : cut(ended), look: `bar-${past && (ended === null || ended > end) ? "moving" : firing.tone}`, text: f.duration(cut(ended ?? end) - started), beside: f.duration(cut(ended ?? end) - started) });
  return out.sort((a, b) => a.from - b.from);
}
