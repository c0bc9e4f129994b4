/** The ways in: how today's executions came, the queue of messages, and those that could not be read. */
import { ArchiveX, CalendarClock, Check, Cloud, Folder, Inbox, PencilLine, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { Badge, Card, Copyable } from "../components";
import { Link } from "../shell/router";
import { useWords } from "../words";
import { Rich } from "../words/rich";
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
      {overview.now.sqs && <Sqs sqs={overview.now.sqs} />}
      {overview.now.folders.map((folder) => <Watched key={folder.bucket} folder={folder} now={now} />)}
      <section>
          <div className="ingest-head"><Inbox size={15} aria-hidden /><h3>{p.queue}</h3><span className="end"><Badge tone="done" icon={Check}>{p.receiving}</Badge></span></div>
          <p className="mono dim">{queue.name}</p>
          <p className="ingest-big"><b>{f.number(queue.size)}</b> {p.messagesLeft}</p>
          <dl>
            {queue.oldestAt && <div><dt>{p.oldestMessage}</dt><dd>{f.duration(Math.max(0, now - Date.parse(queue.oldestAt)), 1)}</dd></div>}
            {overview.now.consumers > 0 && <div><dt>{p.consumersRate(overview.now.consumers)}</dt><dd>{p.perSecond(f.number(overview.now.perSecond))}</dd></div>}
            <div><dt>{p.duplicates}</dt><dd>{f.number(overview.duplicates)}</dd></div>
          </dl>
      </section>
      {overview.nextSchedule && <Schedule next={overview.nextSchedule} now={now} />}
      <section>
        <div className="ingest-head"><ArchiveX size={15} aria-hidden /><h3>{p.unreadable}</h3>{dead.size > 0 && <span className="end"><Badge tone="failed" icon={TriangleAlert}>{t.home.alarm}</Badge></span>}</div>
        <p className="mono dim">{dead.name}</p>
        <p className="ingest-big"><b>{f.number(dead.size)}</b> {p.movedAfter}</p>
        {dead.size > 0 && <p className="ingest-cause"><span className="grow">{dead.code && <code className="ink-failed">{dead.code}</code>} {dead.why}</span><Link to="/ops/dead-letters">{t.common.open}</Link></p>}
      </section>
    </Card>
  );
}

type Ways = PipelineOverview["now"];

function Sqs({ sqs }: { sqs: NonNullable<Ways["sqs"]> }): ReactNode {
  const { t, f } = useWords();
  const p = t.pipeline;
  return (
    <section>
      <div className="ingest-head"><Cloud size={15} aria-hidden /><h3>{p.sqs}</h3><span className="end">{sqs.receiving ? <Badge tone="done" icon={Check}>{p.receiving}</Badge> : <Badge tone="failed" icon={TriangleAlert}>{p.notReceiving}</Badge>}</span></div>
      <p className="mono dim">{sqs.name}</p>
      {sqs.waiting !== null && <p className="ingest-big"><b>{f.number(sqs.waiting)}</b> {p.messagesLeft}</p>}
      <dl>
        {sqs.inFlight !== null && <div><dt>{p.inFlight}</dt><dd>{f.number(sqs.inFlight)}</dd></div>}
        <div><dt>{p.consumersRate(sqs.consumers)}</dt><dd>{p.perSecond(f.number(sqs.perSecond))}</dd></div>
      </dl>
    </section>
  );
}

/** Files that are still being written are named, and left alone. */
function Watched({ folder, now }: { folder: Ways["folders"][number]; now: number }): ReactNode {
  const { t, f } = useWords();
  const p = t.pipeline;
  return (
    <section>
      <div className="ingest-head"><Folder size={15} aria-hidden /><h3>{p.folder}</h3><span className="end"><Badge tone="done" icon={Check}>{p.receiving}</Badge></span></div>
      <p className="ingest-line"><span className="mono dim">{folder.bucket}/</span><span className="dim">{p.folderToday(f.number(folder.taken), folder.lastAt ? f.ago(folder.lastAt, now) : null)}</span></p>
      {folder.writing.length > 0 && <p className="ingest-note"><PencilLine size={14} aria-hidden /><span><Rich text={p.stillWritten(folder.writing.join(", "), folder.unfinished - folder.writing.length)} /></span></p>}
    </section>
  );
}

function Schedule({ next, now }: { next: NonNullable<PipelineOverview["nextSchedule"]>; now: number }): ReactNode {
  const { t, f } = useWords();
  const p = t.pipeline;
  return (
    <section>
      <div className="ingest-head"><CalendarClock size={15} aria-hidden /><h3>{p.schedule}</h3><span className="dim end">{p.nextIn(f.duration(Math.max(0, Date.parse(next.nextAt) - now)))}</span></div>
      <p className="ingest-line"><span>{next.name}</span><b>{f.when(next.nextAt, now)} <span className="dim">{f.zoneName()}</span></b></p>
    </section>
  );
}

function Nothing(): ReactNode {
  const { t } = useWords();
  return <div className="ingest-none"><p className="dim">{t.pipeline.waysInNone}</p><Copyable text="penstock pipeline watch ./inbox --definition images.json" show="penstock pipeline watch ./inbox …" /></div>;
}
