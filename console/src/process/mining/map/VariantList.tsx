/** The variants, a letter per step: hovering draws one on the map, pressing keeps it there and shows its runs. */
import { X } from "lucide-react";
import { useMemo, useState, type ReactNode } from "react";
import { Link, setSearch, useParam } from "../../../shell/router";
import { lettersOf } from "../letters";
import { deviationTitle, percentOf, useMiningWords } from "../speech";
import type { MiningMap, Variant } from "../types";

const FIRST = 8;

/** The variant that the address names. */
export function useChosenVariant(map: MiningMap | undefined): Variant | null {
  const [rank] = useParam("variant");
  return map?.variants.find((variant) => String(variant.rank) === rank) ?? null;
}

export function VariantList({ map, onHover }: { map: MiningMap; onHover: (variant: Variant | null) => void }): ReactNode {
  const { m, f } = useMiningWords();
  const v = m.variants;
  const [all, setAll] = useState(false);
  const chosen = useChosenVariant(map);
  const [deviationText] = useParam("deviation");
  const deviation = map.conformance?.deviations[Number(deviationText) - 1] ?? null;
  const letters = useMemo(() => lettersOf(map.activities.map(({ name }) => name)), [map.activities]);
  const own = deviation ? map.variants.filter(({ rank }) => deviation.variants.includes(rank)) : map.variants;
  const shown = all || deviation ? own : own.slice(0, Math.max(FIRST, chosen ? own.indexOf(chosen) + 1 : 0));
  const rest = own.slice(shown.length);
  const most = Math.max(...map.variants.map(({ share }) => share), 0.001);
  return (
    <section className="mine-variants" aria-label={v.title}>
      <header><h2>{v.title} <span className="dim">{own.length}</span></h2><span className="dim">{v.share}</span><span className="dim">{v.took}</span></header>
      {(chosen || deviation) && <Chosen map={map} variants={chosen ? [chosen] : own} text={chosen ? v.chosen(chosen.rank, f.number(chosen.cases)) : deviation ? v.chosenDeviation(deviationTitle(deviation, m), f.number(deviation.cases)) : ""} />}
      <ol>{shown.map((variant) => <Row key={variant.rank} variant={variant} letters={letters} most={most} chosen={variant === chosen} onHover={onHover} />)}</ol>
      <footer>
        {rest.length > 0 ? <button type="button" className="linklike" onClick={() => setAll(true)}>{v.more(rest.length, f.number(rest.reduce((sum, { cases }) => sum + cases, 0)))}</button> : all && own.length > FIRST ? <button type="button" className="linklike" onClick={() => setAll(false)}>{v.fewer}</button> : <span />}
        {map.median_case_ms !== null && <span className="dim">{v.median(f.duration(map.median_case_ms))}</span>}
      </footer>
    </section>
  );
}

function Row({ variant, letters, most, chosen, onHover }: { variant: Variant; letters: Map<string, string>; most: number; chosen: boolean; onHover: (variant: Variant | null) => void }): ReactNode {
  const { m, f } = useMiningWords();
  const v = m.variants;
  const bad = new Set(variant.deviating);
  const time = variant.median_ms === null ? "–" : f.duration(variant.median_ms);
  const names = variant.activities.join(" → ");
  const bads = bad.size > 0 ? v.deviates([...bad].map((at) => variant.activities[at]).join(", ")) : "";
  return (
    <li className={variant.fits === false ? "mine-unfit" : ""}>
      <button type="button" data-variant={variant.rank} aria-pressed={chosen} onClick={() => setSearch({ variant: chosen ? null : String(variant.rank), deviation: null })} onMouseEnter={() => onHover(variant)} onMouseLeave={() => onHover(null)} onFocus={() => onHover(variant)} onBlur={() => onHover(null)}>
        <span className="mine-rank">{variant.rank}</span>
        <span className="sr">{names}.{bads} </span>
        <span className="mine-letters" aria-hidden>{variant.activities.map((name, at) => <i key={at} title={name} className={bad.has(at) ? "mine-bad" : ""}>{letters.get(name)}</i>)}</span>
        <b className="num">{percentOf(variant.share, f)}</b>
        <span className="num mine-median">{time}</span>
        <span className="mine-track" aria-hidden><i style={{ width: `${(100 * variant.share) / most}%` }} /></span>
      </button>
    </li>
  );
}

/** So many runs are offered. */
const SAMPLE = 5;

function Chosen({ map, variants, text }: { map: MiningMap; variants: Variant[]; text: string }): ReactNode {
  const { m } = useMiningWords();
  const v = m.variants;
  const ids = variants.flatMap(({ case_ids: own }) => own).slice(0, SAMPLE);
  return (
    <div className="mine-chosen">
      <p role="status"><b>{text}</b><button type="button" className="btn btn-icon" aria-label={v.clear} title={v.clear} onClick={() => setSearch({ variant: null, deviation: null })}><X size={14} aria-hidden /></button></p>
      {variants.length === 0 ? <p className="dim small">{v.none}</p> : map.source === "log" ? <p className="dim small">{v.noRuns}</p> : ids.length > 0 && <p className="small">{v.runs}: {ids.map((id, i) => <span key={id}>{i > 0 && " · "}<Link className="mono" to={`/runs/${encodeURIComponent(id)}`}>{id.length > 12 ? id.slice(0, 12) : id}</Link></span>)}</p>}
    </div>
  );
}
