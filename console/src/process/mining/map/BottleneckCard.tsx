/** The one callout of the map: the step before which most of all time is lost. */
import { Hourglass, X } from "lucide-react";
import { useState, type CSSProperties, type ReactNode } from "react";
import { query } from "../../../api/client";
import { Link } from "../../../shell/router";
import { Rich } from "../../../words/rich";
import { percentOf, useMiningWords } from "../speech";
import type { Bottleneck, MiningMap } from "../types";

interface Props {
  map: MiningMap;
  bottleneck: Bottleneck;
  style?: CSSProperties;
  onClose?: () => void;
}

export function BottleneckCard({ map, bottleneck, style, onClose }: Props): ReactNode {
  const { f, m } = useMiningWords();
  const b = m.bottleneck;
  const [more, setMore] = useState(false);
  const wait = bottleneck.median_wait_ms ?? 0;
  const node = map.activities.find(({ name }) => name === bottleneck.target)?.activity_id;
  const rows: [string, string | null][] = [
    [b.share, percentOf(bottleneck.share, f)],
    [b.slow, bottleneck.p95_wait_ms === null ? null : f.duration(bottleneck.p95_wait_ms)],
    [b.arrivals, b.perDay(f.number(bottleneck.arrivals_per_day))],
    [b.people, bottleneck.people > 0 ? b.persons(f.number(bottleneck.people)) : null],
  ];
  return (
    <section className="mine-callout" style={style} aria-label={b.title}>
      <header><Hourglass size={15} aria-hidden /><span>{b.title}</span>{onClose && <button type="button" className="btn btn-icon" aria-label={b.close} onClick={onClose}><X size={14} aria-hidden /></button>}</header>
      <h2>{b.sentence(bottleneck.target, f.duration(wait))}</h2>
      <dl>{rows.map(([name, value]) => value !== null && <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
      <p>
        {map.source === "runs" && <Link to={`/runs${query({ name: map.id, node })}`}>{b.runs}</Link>}
        {bottleneck.people > 0 && wait > 0 && <button type="button" className="linklike" aria-expanded={more} onClick={() => setMore(!more)}>{b.more}</button>}
      </p>
      {more && <p className="mine-more" role="status"><Rich text={b.estimate(f.number(bottleneck.people), f.number(bottleneck.people + 1), f.duration((wait * bottleneck.people) / (bottleneck.people + 1)))} /></p>}
    </section>
  );
}
