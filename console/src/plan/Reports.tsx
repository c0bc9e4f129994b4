/** Reports of a project: a list by type, and one of them to read. */
import type { ReactNode } from "react";
import { useGet, useLast } from "../api/cache";
import type { Json, Tone } from "../api/types";
import { Badge, Failed, Skeleton } from "../components";
import { setSearch, useSearch } from "../shell/router";
import { useWords } from "../words";
import { reportsPath } from "./requests";
import type { Items, Report } from "./types";

const TYPES = ["completion", "progress", "failure", "periodic", "incident", "zombie", "error", "summary"] as const;
const TONE: Record<string, Tone> = { completion: "done", progress: "moving", failure: "failed", incident: "failed", zombie: "held", error: "failed", summary: "done", periodic: "idle" };
const MOST = 200;
/** Fields of a report that are times, and those that are durations. */
const TIME = /(_at|At|^updated)$/;

export function Reports({ project }: { project: string }): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  const search = useSearch();
  const type = TYPES.find((each) => each === search.get("type")) ?? null;
  const answer = useGet<Items<Report>>(reportsPath({ project, type, limit: MOST }));
  const all = useLast(answer.data)?.items;
  if (!all) return answer.error ? <Failed error={answer.error} retry={answer.reload} /> : <div className="pad"><Skeleton h={40} n={6} /></div>;
  const shown = all.find((report) => report.id === search.get("report")) ?? all[0];
  return (
    <div className="reports">
      <div className="reports-list">
        <div className="reports-types" role="group" aria-label={p.reports}>
          {[null, ...TYPES].map((each) => <button key={each ?? ""} type="button" className="chip" aria-pressed={each === type} onClick={() => setSearch({ type: each, report: null })}>{each === null ? p.everyType : (p.reportType[each] ?? each)}</button>)}
        </div>
        {all.length === 0 && <p className="dim reports-none">{p.reportsNone}</p>}
        <ul>{all.map((report) => (
          <li key={report.id}><button type="button" aria-pressed={report.id === shown?.id} onClick={() => setSearch({ report: report.id })}>
            <Badge tone={TONE[report.type] ?? "idle"}>{p.reportType[report.type] ?? report.type}</Badge>
            <span className="grow cut plan-written">{about(report)}</span>
            <time className="dim" dateTime={report.generatedAt} title={f.title(report.generatedAt)}>{f.when(report.generatedAt, Date.now())}</time>
          </button></li>
        ))}</ul>
      </div>
      {shown && (
        <article className="report" aria-label={p.reportOf(p.reportType[shown.type] ?? shown.type)}>
          <h2>{p.reportOf(p.reportType[shown.type] ?? shown.type)} <span className="dim">{f.dayTime(shown.generatedAt)} {f.zoneName()}</span></h2>
          <Fields value={shown.body} />
        </article>
      )}
    </div>
  );
}

const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "");

/** What it is about, in a few words. */
function about({ body }: Report): string {
  return [textOf(body["task_id"] ?? body["taskId"] ?? body["task"]), textOf(body["agent_name"] ?? body["agentName"] ?? body["agent"]), textOf(body["error"] ?? body["reason"] ?? body["kind"])].filter(Boolean).join(" · ");
}

function Fields({ value }: { value: { [key: string]: Json } }): ReactNode {
  const { t } = useWords();
  const given = Object.entries(value).filter(([, one]) => one !== null && one !== "");
  return <dl className="report-fields">{given.map(([name, one]) => <div key={name} className={isWide(one) ? "report-wide" : ""}><dt>{t.plan.field[name] ?? name}</dt><dd><Value name={name} value={one} /></dd></div>)}</dl>;
}

const isWide = (value: Json): boolean => typeof value === "object" || (typeof value === "string" && value.length > 60);

function Value({ name, value }: { name: string; value: Json }): ReactNode {
  const { t, f } = useWords();
  if (value === null) return "–";
  if (typeof value === "boolean") return value ? t.common.yes : t.common.no;
  if (typeof value === "number") return name === "duration_ms" || name === "durationMs" ? f.duration(value) : TIME.test(name) && value > 1e11 ? f.dayTime(value) : f.number(value);
  if (typeof value === "string") {
    if (TIME.test(name) && !Number.isNaN(Date.parse(value))) return <time dateTime={value} title={f.title(value)}>{f.dayTime(value)}</time>;
    if (name === "status" || name === "from" || name === "to") return t.plan.status[value] ?? t.plan.health[value] ?? t.plan.execution[value] ?? value;
    return value.includes("\n") || value.length > 200 ? <pre className="code" tabIndex={0}>{value}</pre> : <span className="plan-written">{value}</span>;
  }
  if (Array.isArray(value)) {
    if (value.length === 0) return <span className="dim">{t.common.none}</span>;
    return <ul className="report-items">{value.map((one, i) => <li key={i}>{typeof one === "object" && one !== null && !Array.isArray(one) ? <Fields value={one} /> : <Value name={name} value={one} />}</li>)}</ul>;
  }
  return Object.values(value).every((one) => typeof one === "number") && Object.keys(value).length > 0
    ? <span>{Object.entries(value).map(([key, one]) => `${t.plan.status[key] ?? t.plan.agentState[key] ?? t.plan.field[key] ?? key} ${f.number(one as number)}`).join(" · ")}</span>
    : <Fields value={value} />;
}
