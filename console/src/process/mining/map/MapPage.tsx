/** The map of one process: what runs of it really did, how that fits its model, and the model that was discovered. */
import { GitCompareArrows } from "lucide-react";
import { useMemo, useState, type ReactNode } from "react";
import { useGet, useLast } from "../../../api/cache";
import { ApiError } from "../../../api/client";
import { Button, Copyable, Empty, Failed, Skeleton } from "../../../components";
import { toast } from "../../../components/toast";
import { useFrame } from "../../../shell/chrome";
import { setSearch, useSearch, Link } from "../../../shell/router";
import { may, useSession } from "../../../shell/session";
import { errorText } from "../../../words/errorText";
import { Rich } from "../../../words/rich";
import { ImportLog } from "../ImportLog";
import { discover, mapPath, MINING_PAGE } from "../requests";
import { useMiningWords } from "../speech";
import type { MiningMap, Variant } from "../types";
import { ConformancePanel } from "./ConformancePanel";
import { MapCanvas } from "./MapCanvas";
import { MapHead } from "./MapHead";
import { shownOf } from "./shown";
import { useChosenVariant, VariantList } from "./VariantList";

const numberOf = (text: string | null): number | null => (text && /^\d+$/.test(text) ? Number(text) : null);

export function MapPage({ id }: { id: string }): ReactNode {
  const { t, m } = useMiningWords();
  const search = useSearch();
  const asked = { from: search.get("from"), to: search.get("to"), log: search.get("log") };
  const { data, error, reload } = useGet<MiningMap>(mapPath(id, asked));
  const map = useLast(data);
  useFrame([{ text: m.title, to: MINING_PAGE }, { text: map?.name ?? id, mono: !map }]);
  const filtered = asked.from !== null || asked.to !== null;
  if (error && (!data || !(error instanceof ApiError))) return <Failed page error={error} retry={reload} />;
  if (!map) return <div className="pad"><Skeleton h={60} n={2} /><Skeleton h={420} /></div>;
  if (map.cases === 0) return <NoCases map={map} filtered={filtered} title={m.noCasesTitle} text={m.noCasesText} back={t.nav.back} />;
  return <Loaded map={map} filtered={filtered} steps={numberOf(search.get("steps"))} paths={numberOf(search.get("paths"))} />;
}

function NoCases({ map, filtered, title, text, back }: { map: MiningMap; filtered: boolean; title: string; text: string; back: string }): ReactNode {
  const { m } = useMiningWords();
  return (
    <Empty page title={`${map.name}: ${title}`} text={text}>
      <Copyable text={`penstock mine ${map.id}`} />
      {filtered ? <Button onClick={() => setSearch({ from: null, to: null })}>{m.wholePeriod}</Button> : <Link className="btn" to={MINING_PAGE}>{back}</Link>}
      <ImportLog process={map.version === null ? null : map.id} look="primary" onDone={(log) => setSearch({ log: log.id, from: null, to: null })} />
    </Empty>
  );
}

function Loaded({ map, filtered, steps, paths }: { map: MiningMap; filtered: boolean; steps: number | null; paths: number | null }): ReactNode {
  const { t, m } = useMiningWords();
  const { me } = useSession();
  const shown = useMemo(() => shownOf(map, steps, paths), [map, steps, paths]);
  const chosen = useChosenVariant(map);
  const [hovered, setHovered] = useState<Variant | null>(null);
  const [playing, setPlaying] = useState(false);
  const [busy, setBusy] = useState(false);
  const find = async () => {
    setBusy(true);
    try {
      toast(m.discovered((await discover(map.id, map.log_id)).changes));
    } catch (error) {
      toast(errorText(error, t), { bad: true });
    }
    setBusy(false);
  };
  const mayWrite = may(me, "definition.write");
  return (
    <div className="mine">
      <MapHead map={map} filtered={filtered} playing={playing} onPlaying={setPlaying} />
      {map.discovered && map.discovered.changes > 0 ? <Banner map={map} discovered={map.discovered} /> : mayWrite && map.conformance && !map.discovered && <div className="mine-discover"><span className="grow">{m.about}</span><Button icon={GitCompareArrows} disabled={busy} onClick={() => void find()}>{busy ? m.discovering : m.discover}</Button></div>}
      <div className="mine-body">
        <MapCanvas map={map} shown={shown} variant={hovered ?? chosen} playing={playing} onPlaying={setPlaying} />
        <aside className="mine-panel" aria-label={m.conformance.title}>
          <ConformancePanel map={map} onDiscover={mayWrite ? () => void find() : null} discovering={busy} />
          <VariantList map={map} onHover={setHovered} />
        </aside>
      </div>
    </div>
  );
}

function Banner({ map, discovered }: { map: MiningMap; discovered: NonNullable<MiningMap["discovered"]> }): ReactNode {
  const { m, f } = useMiningWords();
  const not = map.conformance ? map.conformance.cases - map.conformance.fitting : 0;
  const more = map.conformance && discovered.would_fit !== null ? discovered.would_fit - map.conformance.fitting : 0;
  return (
    <div className="mine-banner tone-held">
      <GitCompareArrows size={18} aria-hidden />
      <p className="grow"><Rich text={m.banner(map.version, discovered.changes) + (more > 0 ? m.bannerFit(f.number(not), f.number(more)) : "") + m.bannerPerson} /></p>
      <Link className="btn btn-primary" to={`${MINING_PAGE}/${encodeURIComponent(map.id)}/diff/${encodeURIComponent(discovered.model_id)}`}><GitCompareArrows size={15} aria-hidden />{m.seeDiff}</Link>
    </div>
  );
}
