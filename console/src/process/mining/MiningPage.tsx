/** All processes with a history: how often, how well they fit, how long they take and where they wait. */
import { Hourglass } from "lucide-react";
import type { ReactNode } from "react";
import { useGet } from "../../api/cache";
import { Badge, Copyable, Empty, Failed, Skeleton, Tag } from "../../components";
import { useFrame } from "../../shell/chrome";
import { go, Link } from "../../shell/router";
import { ImportLog } from "./ImportLog";
import { linesPath, MINING_PAGE } from "./requests";
import { percentOf, useMiningWords } from "./speech";
import type { MiningLine, MiningLog } from "./types";

const pageOf = ({ id }: { id: string }): string => `${MINING_PAGE}/${encodeURIComponent(id)}`;

export function MiningPage(): ReactNode {
  const { m } = useMiningWords();
  const { data, error, reload } = useGet<{ items: MiningLine[] }>(linesPath);
  useFrame([{ text: m.title }]);
  const opened = (log: MiningLog) => go(pageOf(log));
  return (
    <div className="mine-all">
      <header className="mine-all-head"><div><h1>{m.title}</h1><p className="dim">{m.about}</p></div><ImportLog onDone={opened} /></header>
      {error && !data ? <Failed error={error} retry={reload} /> : !data ? <Skeleton h={44} n={5} /> : data.items.length === 0 ? (
        <section className="card"><Empty title={m.noneTitle} text={m.noneText}><Copyable text="penstock mine --help" /><ImportLog look="primary" onDone={opened} /></Empty></section>
      ) : <Lines lines={data.items} />}
    </div>
  );
}

function Lines({ lines }: { lines: MiningLine[] }): ReactNode {
  const { m, f } = useMiningWords();
  const c = m.columns;
  return (
    <section className="card mine-lines">
      <table>
        <thead><tr><th scope="col">{c.name}</th><th scope="col" className="num">{c.cases}</th><th scope="col" className="num">{c.events}</th><th scope="col">{c.fitness}</th><th scope="col" className="num">{c.median}</th><th scope="col">{c.bottleneck}</th></tr></thead>
        <tbody>
          {lines.map((line) => (
            <tr key={line.id} onClick={(event) => (event.target as HTMLElement).closest("a") ?? go(pageOf(line))}>
              <th scope="row">
                <Link to={pageOf(line)}>{line.name}</Link> {line.source === "log" ? <Tag>{m.fromLog}</Tag> : line.version !== null && <Tag>v{line.version}</Tag>}
                <span className="mono dim">{line.id}</span>
                {line.pending_model && <Badge tone="held" icon={Hourglass}>{m.pending}</Badge>}
              </th>
              <td className="num" data-label={c.cases}>{f.number(line.cases)}</td>
              <td className="num" data-label={c.events}>{f.number(line.events)}</td>
              <td data-label={c.fitness}>{line.fitness === null ? <span className="dim">–</span> : <span className="mine-fitness"><span className="mine-share-bar" aria-hidden><i style={{ flexGrow: line.fitness }} /><i className="mine-bad" style={{ flexGrow: 1 - line.fitness }} /></span><b>{percentOf(line.fitness, f)}</b></span>}</td>
              <td className="num" data-label={c.median}>{line.median_case_ms === null || line.cases === 0 ? "–" : f.duration(line.median_case_ms)}</td>
              <td data-label={c.bottleneck}>{line.bottleneck ? m.waits(line.bottleneck.target, f.duration(line.bottleneck.median_wait_ms ?? 0)) : <span className="dim">{m.noBottleneck}</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
