/** How many cases fit the model, and how the others deviate, each with the runs behind it. */
import type { ReactNode } from "react";
import { Button } from "../../../components";
import { setSearch, useParam } from "../../../shell/router";
import { Rich } from "../../../words/rich";
import { deviationTitle, percentNumber, percentOf, ratioOf, useMiningWords } from "../speech";
import type { Deviation, MiningMap } from "../types";

export function ConformancePanel({ map, onDiscover, discovering }: { map: MiningMap; onDiscover: (() => void) | null; discovering: boolean }): ReactNode {
  const { m, f } = useMiningWords();
  const c = m.conformance;
  const { conformance } = map;
  if (!conformance) return <section className="mine-fits" aria-label={c.title}><h2>{c.title}</h2><p className="dim">{c.none}</p>{onDiscover && <Button disabled={discovering} onClick={onDiscover}>{discovering ? m.discovering : m.discover}</Button>}</section>;
  const { fitting, cases, deviations } = conformance;
  const share = cases > 0 ? fitting / cases : 1;
  const most = Math.max(1, cases - fitting, ...deviations.map((deviation) => deviation.cases));
  return (
    <section className="mine-fits" aria-label={c.title}>
      <header><h2>{c.title}</h2><span className="dim">{c.against(conformance.version)}</span></header>
      <div className="mine-share"><b>{percentNumber(share, f)}<small>%</small></b><p><Rich text={c.fit(f.number(cases), f.number(fitting))} /><br />{c.not(f.number(cases - fitting), conformance.precision === null ? null : ratioOf(conformance.precision))}</p></div>
      <p className="mine-share-bar" role="img" aria-label={c.bar(percentOf(share, f))}><i style={{ flexGrow: fitting }} />{cases > fitting && <i className="mine-bad" style={{ flexGrow: cases - fitting }} />}</p>
      {conformance.bounded && <p className="ink-held small">{c.bounded}</p>}
      {deviations.length === 0 ? <p className="dim">{c.allFit}</p> : <ul className="mine-deviations">{deviations.map((deviation, i) => <DeviationRow key={`${deviation.kind} ${deviation.activity} ${deviation.before}`} deviation={deviation} number={i + 1} most={most} />)}</ul>}
    </section>
  );
}

function DeviationRow({ deviation, number, most }: { deviation: Deviation; number: number; most: number }): ReactNode {
  const { m, f } = useMiningWords();
  const c = m.conformance;
  const [chosen] = useParam("deviation");
  const title = deviationTitle(deviation, m);
  const on = chosen === String(number);
  return (
    <li>
      <button type="button" className="mine-deviation" aria-pressed={on} title={c.open(title)} onClick={() => setSearch({ deviation: on ? null : String(number), variant: null })}>
        <b>{title}</b><span className="mine-runs">{c.runs(f.number(deviation.cases))}</span>
        <span className="dim">{deviation.before || m.begin} → {deviation.activity}</span>
        {deviation.in_discovered !== null && <span className={deviation.in_discovered ? "ink-done" : "dim"}>{deviation.in_discovered ? c.inNew : c.notInNew}</span>}
        <i className="mine-track" aria-hidden><i style={{ width: `${(100 * deviation.cases) / most}%` }} /></i>
      </button>
    </li>
  );
}
