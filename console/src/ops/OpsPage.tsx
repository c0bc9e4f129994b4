/** Operations: what is refused beyond which limit, and the circuit breakers. */
import "./ops.css";
import { Gauge, Unplug } from "lucide-react";
import type { ReactNode } from "react";
import { useGet } from "../api/cache";
import type { Breaker, Limit } from "../api/types";
import { Ago, Badge, Card, Empty, Failed, Skeleton } from "../components";
import { useFrame } from "../shell/chrome";
import { Link } from "../shell/router";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";

export default function OpsPage(): ReactNode {
  const { t } = useWords();
  const { me } = useSession();
  useFrame([{ text: t.nav.ops }]);
  return (
    <div className="ops pad">
      <h1>{t.nav.ops}</h1>
      {may(me, "ops.read") ? <><Limits /><Breakers /></> : <Empty title={t.error.forbidden("ops.read")} />}
    </div>
  );
}

/** From this share of a limit on somebody should look. */
const NEARLY = 0.8;

function Limits(): ReactNode {
  const { t, f } = useWords();
  const o = t.ops;
  const answer = useGet<{ items: Limit[]; house: Limit[] }>("/limits");
  const all = answer.data && [...answer.data.items.map((limit) => ({ ...limit, setting: `limits.${limit.name}`, each: o.perRun })), ...answer.data.house.map((limit) => ({ ...limit, setting: limit.name, each: o.ofHouse }))];
  return (
    <Card>
      <div className="card-head"><Gauge size={16} className="dim" aria-hidden /><h2>{o.limits}</h2></div>
      {!all ? (answer.error ? <Failed error={answer.error} retry={answer.reload} /> : <div className="pad-small"><Skeleton h={34} n={4} /></div>) : (
        <div className="ops-scroll" tabIndex={0} role="region" aria-label={o.limits}>
          <table className="ops-table">
            <thead><tr><th>{o.limit}</th><th className="num">{o.most}</th><th className="num">{o.used}</th><th>{o.beyond}</th></tr></thead>
            <tbody>{all.map((limit) => {
              const near = limit.used !== null && limit.used >= NEARLY * limit.limit;
              return (
                <tr key={limit.setting}>
                  <td>{o.limitNames[limit.name] ?? limit.what} <code className="dim">{limit.setting}</code></td>
                  <td className="num">{f.number(limit.limit)}</td>
                  <td className="num">{limit.used === null ? <span className="dim">{limit.each}</span> : near ? <Badge tone={limit.used >= limit.limit ? "failed" : "held"}>{f.number(limit.used)}</Badge> : f.number(limit.used)}</td>
                  <td>{o.beyondWords[limit.beyond] ?? limit.beyond} <code className="dim">{limit.code}</code></td>
                </tr>
              );
            })}</tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

function Breakers(): ReactNode {
  const { t, f } = useWords();
  const o = t.ops;
  const answer = useGet<{ items: Breaker[] }>("/circuit-breakers");
  const all = answer.data?.items;
  const open = all?.filter((breaker) => breaker.status === "open") ?? [];
  return (
    <Card>
      <div className="card-head"><Unplug size={16} className={open.length ? "ink-failed" : "dim"} aria-hidden /><h2>{o.breakers}</h2><span className="dim">{all && f.number(open.length)}</span></div>
      {!all ? (answer.error ? <Failed error={answer.error} retry={answer.reload} /> : <div className="pad-small"><Skeleton h={34} n={2} /></div>)
        : open.length === 0 ? <p className="home-none dim">{o.breakersNone}</p>
        : (
          <table className="ops-table">
            <thead><tr><th>{o.breaker}</th><th>{t.runs.status}</th><th className="num">{o.failures}</th><th>{o.opened}</th></tr></thead>
            <tbody>{open.map((breaker) => {
              const [name = "", node = ""] = breaker.name.split("/");
              return <tr key={breaker.name}><td><Link to={`/runs?name=${encodeURIComponent(name)}&node=${encodeURIComponent(node)}`} className="mono">{breaker.name}</Link></td><td><Badge tone={breaker.status === "open" ? "failed" : "held"}>{o.breakerState[breaker.status] ?? breaker.status}</Badge></td><td className="num">{breaker.recent.reduce((sum, failed) => sum + failed, 0)}/{breaker.recent.length}</td><td>{breaker.opened_at && <Ago time={breaker.opened_at} />}</td></tr>;
            })}</tbody>
          </table>
        )}
    </Card>
  );
}
