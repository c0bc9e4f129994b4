/** The head of the map: what was looked at, how it was narrowed, a log that is brought or taken away, and the replay. */
import { CalendarDays, Check, Download, ListFilter, Play, Square } from "lucide-react";
import { useState, type FormEvent, type ReactNode } from "react";
import { useGet } from "../../../api/cache";
import { Badge, Button, Tag } from "../../../components";
import { anchorOf, Dialog, type Anchor } from "../../../components/Dialog";
import { setSearch } from "../../../shell/router";
import { ImportLog } from "../ImportLog";
import { LOGS, xesAddress } from "../requests";
import { periodText, useMiningWords } from "../speech";
import type { MiningLog, MiningMap } from "../types";

interface Props {
  map: MiningMap;
  filtered: boolean;
  playing: boolean;
  onPlaying: (playing: boolean) => void;
}

export function MapHead({ map, filtered, playing, onPlaying }: Props): ReactNode {
  const { m, f } = useMiningWords();
  const [filter, setFilter] = useState<Anchor | null>(null);
  return (
    <header className="mine-head">
      <div>
        <h1>{map.name} {map.version !== null && <Badge tone="done" icon={Check}>{m.active(map.version)}</Badge>}{map.source === "log" && <Tag>{m.fromLog}</Tag>}</h1>
        <p className="mine-about">
          <span className="mono">{map.id}</span>
          <span><CalendarDays size={14} aria-hidden />{periodText(map, m, f)}</span>
          <span>{m.cases(f.number(map.cases))} · {m.events(f.number(map.events))}</span>
          <span>{filtered ? m.filtered : m.unfiltered}</span>
        </p>
      </div>
      <div className="mine-acts">
        <Button icon={ListFilter} aria-haspopup="dialog" aria-pressed={filtered} onClick={(event) => setFilter(anchorOf(event.currentTarget))}>{m.filter}</Button>
        <ImportLog process={map.version === null ? null : map.id} onDone={(log) => setSearch({ log: log.id, from: null, to: null, paths: null, steps: null, variant: null, deviation: null })} />
        {map.source === "runs" && <a className="btn btn-plain" href={xesAddress(map.id)} download={`${map.id}.xes`} title={m.xesTip}><Download size={15} aria-hidden />{m.xes}</a>}
        <Button icon={playing ? Square : Play} aria-pressed={playing} onClick={() => onPlaying(!playing)}>{playing ? m.stopReplay : m.replay}</Button>
      </div>
      {filter && <Filter map={map} anchor={filter} onClose={() => setFilter(null)} />}
    </header>
  );
}

function Filter({ map, anchor, onClose }: { map: MiningMap; anchor: Anchor; onClose: () => void }): ReactNode {
  const { t, m, f } = useMiningWords();
  const { data } = useGet<{ items: MiningLog[] }>(LOGS);
  const day = (time: string | null) => (time ? f.field(time).slice(0, 10) : "");
  const [from, setFrom] = useState(day(map.period.from));
  const [to, setTo] = useState(day(map.period.to));
  const [log, setLog] = useState(map.log_id ?? "");
  const apply = (event: FormEvent) => {
    event.preventDefault();
    const moved = from !== day(map.period.from) || to !== day(map.period.to);
    setSearch({ ...(moved ? { from: from ? f.fromField(`${from}T00:00`) : null, to: to ? f.fromField(`${to}T23:59`) : null } : {}), log: log || null, variant: null, deviation: null });
    onClose();
  };
  return (
    <Dialog label={m.filter} look="popover" anchor={anchor} onClose={onClose}>
      <form className="mine-filter" onSubmit={apply}>
        <h2>{m.filter}</h2>
        <label><span className="label">{m.from}</span><input data-first className="input" type="date" value={from} max={to || undefined} onChange={(event) => setFrom(event.target.value)} /></label>
        <label><span className="label">{m.to}</span><input className="input" type="date" value={to} min={from || undefined} onChange={(event) => setTo(event.target.value)} /></label>
        {data && data.items.length > 0 && <label><span className="label">{m.log}</span><select className="input" value={log} onChange={(event) => setLog(event.target.value)}><option value="">{m.ownRuns}</option>{data.items.map((each) => <option key={each.id} value={each.id}>{each.name}</option>)}</select></label>}
        <div className="dialog-foot"><Button look="quiet" onClick={() => { setSearch({ from: null, to: null, log: null, variant: null, deviation: null }); onClose(); }}>{m.clear}</Button><Button onClick={onClose}>{t.common.cancel}</Button><Button type="submit" look="primary">{m.apply}</Button></div>
      </form>
    </Dialog>
  );
}
