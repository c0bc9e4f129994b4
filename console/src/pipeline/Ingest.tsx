/** The ways in: how today's executions came, the queue of messages, and those that could not be read. */
import { ArchiveX, Check, Inbox, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { Badge, Card, Copyable } from "../components";
import { Link } from "../shell/router";
import { useWords } from "../words";
import type { PipelineOverview } from "../api/types";

export function Ingest({ overview, now }: { overview: PipelineOverview; now: number }): ReactNode {
  const { t, f } = useWords();
  const p = t.pipeline;
  const total = overview.waysIn.reduce((sum, { count }) => sum + count, 0);
  const { queue, dead } = overview;
  return (
    <Card className="ingest" label={p.waysIn}>
      <section>
        <div className="ingest-head"><h2>{p.waysIn}</h2><span className="dim">{p.todayN(f.number(total))}</span></div>
        {total === 0 ? <Nothing /> : (
          <>
            <span className="ingest-bar" aria-hidden>{overview.waysIn.map(({ trigger, count }) => <i key={trigger} className={`way way-${trigger.toLowerCase()}`} style={{ flexGrow: count }} />)}</span>
            <ul className="ingest-ways">{overview.waysIn.map(({ trigger, count }) => <li key={trigger}><i className={`way way-${trigger.toLowerCase()}`} aria-hidden />{p.way[trigger] ?? trigger}<b>{f.number(count)}</b></li>)}</ul>
          </>
        )}
      </section>
      <section>
          <div className="ingest-head"><Inbox size={15} aria-hidden /><h3>{p.queue}</h3><span className="end"><Badge tone="done" icon={Check}>{p.receiving}</Badge></span></div>
          <p className="mono dim">{queue.name}</p>
          <p className="ingest-big"><b>{f.number(queue.size)}</b> {p.messagesLeft}</p>
          <dl>
            {queue.oldestAt && <div><dt>{p.oldestMessage}</dt><dd>{f.duration(Math.max(0, now - Date.parse(queue.oldestAt)), 1)}</dd></div>}
          </dl>
      </section>
      <section>
        <div className="ingest-head"><ArchiveX size={15} aria-hidden /><h3>{p.unreadable}</h3>{dead.size > 0 && <span className="end"><Badge tone="failed" icon={TriangleAlert}>{t.home.alarm}</Badge></span>}</div>
        <p className="mono dim">{dead.name}</p>
        <p className="ingest-big"><b>{f.number(dead.size)}</b> {p.movedAfter}</p>
        {dead.size > 0 && <p className="ingest-cause"><span className="grow">{dead.code && <code className="ink-failed">{dead.code}</code>} {dead.why}</span><Link to="/ops/dead-letters">{t.common.open}</Link></p>}
      </section>
    </Card>
  );
}

function Nothing(): ReactNode {
  const { t } = useWords();
  return <div className="ingest-none"><p className="dim">{t.pipeline.waysInNone}</p><Copyable text="penstock pipeline watch ./inbox --definition images.json" show="penstock pipeline watch ./inbox …" /></div>;
}
