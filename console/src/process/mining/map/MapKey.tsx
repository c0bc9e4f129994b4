/** What colours and widths of the map mean, and the sliders that hide activities and paths but change no number. */
import { useEffect, useState, type CSSProperties, type ReactNode } from "react";
import { Rich } from "../../../words/rich";
import { percentOf, useMiningWords } from "../speech";
import type { MiningMap } from "../types";
import type { MapMode } from "./ActivityMap";
import type { Shown } from "./shown";

export function Legend({ mode }: { mode: MapMode }): ReactNode {
  const { m } = useMiningWords();
  const l = m.legend;
  return (
    <div className={`mine-key mine-by-${mode}`}>
      {mode === "people" ? (
        <p className="mine-key-people"><span><i className="mine-key-human" aria-hidden />{l.human}</span><span><i className="mine-key-agent" aria-hidden />{l.agent}</span></p>
      ) : (
        <div className="mine-key-row">
          <span>{mode === "time" ? l.wait : l.passed}</span>
          <div>
            <p className="mine-key-steps" aria-hidden>{[1, 2, 3, 4, 5].map((step) => <i key={step} className={mode === "time" ? `mine-wait-${step}` : `mine-times-${step}`} />)}</p>
            <p className={mode === "time" ? "mine-key-limits" : "mine-key-ends"}>{(mode === "time" ? l.limits : [l.few, l.many]).map((text) => <span key={text}>{text}</span>)}</p>
          </div>
        </div>
      )}
      {mode !== "count" && <div className="mine-key-row"><span>{l.passed}</span><p className="mine-key-steps mine-key-widths" aria-hidden>{[2, 5, 8.5].map((width) => <i key={width} style={{ height: width }} />)}</p></div>}
    </div>
  );
}

interface SliderProps {
  map: MiningMap;
  shown: Shown;
  /** What is being dragged, before it is let go. */
  onDrag: (paths: number | null) => void;
  onSteps: (steps: number | null) => void;
  onPaths: (paths: number | null) => void;
}

export function MapSliders({ map, shown, onDrag, onSteps, onPaths }: SliderProps): ReactNode {
  const { m, f } = useMiningWords();
  const hiddenCases = map.cases - shown.cases;
  const hiddenSteps = map.activities.length - shown.activities.length;
  const hidden = shown.hidden.length;
  return (
    <div className="mine-sliders">
      <Slider name={m.steps} value={shown.activities.length} least={1} most={map.activities.length} of={map.activities.length} onDrag={() => undefined} onRelease={onSteps} />
      <Slider name={m.paths} value={shown.flows.length} least={shown.least} most={shown.possible.length} of={map.flows.length} onDrag={onDrag} onRelease={onPaths} />
      <p role="status">
        <Rich text={m.visible(f.number(shown.cases), percentOf(map.cases ? shown.cases / map.cases : 1, f))} />
        {hiddenSteps > 0 && m.hiddenSteps(hiddenSteps)}
        {hidden > 0 && (hiddenSteps === 0 && hiddenCases > 0 ? m.hiddenPaths(f.number(hiddenCases), hidden) : m.hiddenPlain(hidden))}
        {(hidden > 0 || hiddenSteps > 0) && <> <button type="button" className="linklike" onClick={() => { onSteps(map.activities.length); onPaths(map.flows.length); }}>{m.showAll}</button></>}
        <span className="sr"> {m.unchanged}</span>
      </p>
    </div>
  );
}

interface RangeProps {
  name: string;
  value: number;
  least: number;
  most: number;
  of: number;
  onDrag: (value: number | null) => void;
  onRelease: (value: number | null) => void;
}

function Slider({ name, value, least, most, of, onDrag, onRelease }: RangeProps): ReactNode {
  const [dragged, setDragged] = useState<number | null>(null);
  useEffect(() => setDragged(null), [value]);
  const release = () => { if (dragged !== null && dragged !== value) onRelease(dragged); setDragged(null); onDrag(null); };
  const at = dragged ?? value;
  const part = most > least ? ((at - least) / (most - least)) * 100 : 100;
  return (
    <label className="mine-slider">
      <span>{name}</span>
      <input type="range" min={least} max={most} value={at} disabled={most <= least} aria-valuetext={`${at} / ${of}`} style={{ "--part": `${part}%` } as CSSProperties} onChange={(event) => { setDragged(Number(event.target.value)); onDrag(Number(event.target.value)); }} onPointerUp={release} onKeyUp={release} onBlur={release} />
      <span className="num">{at} / {of}</span>
    </label>
  );
}
