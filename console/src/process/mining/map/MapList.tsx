/** The map as tables, with every activity and every path: for readers, for copying, and for a phone. */
import type { ReactNode } from "react";
import { useMiningWords, whoText } from "../speech";
import { flowKey, type MiningMap } from "../types";
import { byFrequency, type Shown } from "./shown";

export function MapList({ map, shown }: { map: MiningMap; shown: Shown }): ReactNode {
  const { m, f } = useMiningWords();
  const l = m.list;
  const time = (ms: number | null) => (ms === null ? "–" : f.duration(ms));
  const drawn = new Set(shown.flows.map(flowKey));
  const flows = [...map.flows].sort((a, b) => b.count - a.count);
  return (
    <div className="mine-list" tabIndex={0} role="region" aria-label={m.view.list}>
      <Table title={l.steps} head={[l.name, l.times, l.cases, l.work, l.workSlow, l.who]} rows={byFrequency(map.activities).map((activity) => [activity.name, f.number(activity.count), f.number(activity.cases), time(activity.median_work_ms), time(activity.p95_work_ms), whoText(activity, m, f)])} texts={[0, 5]} />
      <Table title={l.paths} head={[l.from, l.to, l.times, l.cases, l.wait, l.waitSlow, ""]} rows={flows.map((flow) => [flow.source || m.begin, flow.target || m.end, f.number(flow.count), f.number(flow.cases), time(flow.median_wait_ms), time(flow.p95_wait_ms), drawn.has(flowKey(flow)) ? "" : l.hidden])} texts={[0, 1, 6]} />
      {map.rework.length > 0 && <Table title={l.rework} head={[l.name, l.cases, l.repeats]} rows={map.rework.map((each) => [each.activity, f.number(each.cases), f.number(each.repeats)])} texts={[0]} />}
      {map.handovers.length > 0 && <Table title={l.handovers} head={[l.giver, l.taker, l.times, l.wait]} rows={map.handovers.map((each) => [each.source, each.target, f.number(each.count), time(each.median_wait_ms)])} texts={[0, 1]} />}
    </div>
  );
}

interface TableProps {
  title: string;
  head: string[];
  rows: string[][];
  /** The columns of texts; the others are numbers. */
  texts: number[];
}

function Table({ title, head, rows, texts }: TableProps): ReactNode {
  return (
    <section className="card">
      <table className="mine-table">
        <caption>{title} <span className="dim">{rows.length}</span></caption>
        <thead><tr>{head.map((text, i) => (text ? <th key={i} scope="col" className={texts.includes(i) ? "" : "num"}>{text}</th> : <td key={i} />))}</tr></thead>
        <tbody>{rows.map((row) => <tr key={row.slice(0, 2).join("\n")}>{row.map((text, i) => (i === 0 ? <th key={i} scope="row">{text}</th> : <td key={i} data-label={head[i]} className={texts.includes(i) ? "" : "num"}>{text}</td>))}</tr>)}</tbody>
      </table>
    </section>
  );
}
