/** The panel of the selected node, or of the run: summary, attempts, data at the playhead, facts, logs, children. */
import { Check, Lightbulb, X } from "lucide-react";
import { useMemo, useState, type KeyboardEvent, type ReactNode } from "react";
import { useGet } from "../api/cache";
import type { Dict, Fact, FactPage, Firing, Graph, GraphNode, Json, NodeState, Run, Why } from "../api/types";
import { Charts } from "../charts/Charts";
import { Ago, Badge, Button, Copyable, Face } from "../components";
import type { Outcome, RunParts } from "../languages/contract";
import { labelOf } from "../net/label";
import { Link, setSearch, useParam } from "../shell/router";
import { useNow, useWords } from "../words";
import type { Dictionary } from "../words/ko";
import { person } from "../words/why";
import { authorOf, factText, isNews } from "./factText";
import { Logs } from "./Logs";
import { nodeCharts } from "./nodeCharts";
import { leaves } from "./timeTravel";

interface Props {
  run: Run;
  /** What the language of the run brings. */
  parts: RunParts;
  graph: Graph | undefined;
  facts: Fact[];
  node: string | null;
  at: number | null;
  changed: Set<string>;
}

const PREVIEW = 64 * 1024;
/** Facts on a page. */
const WINDOW = 500;

export function Panel({ run, parts, graph, facts, node, at, changed }: Props): ReactNode {
  const { t, typeWord } = useWords();
  const [tab, setTab] = useParam("tab");
  const drawn = graph?.nodes.find(({ id }) => id === node) ?? null;
  const time = at === null ? null : (graph?.time ?? null);
  const began = useMemo(() => run.firings.filter((firing) => !time || (firing.started_at ?? "") <= time).map((firing) => asOf(firing, time)), [run.firings, time]);
  const firings = began.filter((firing) => firing.node === node);
  const attempts = node ? firings.flatMap((firing) => firing.attempts) : began.filter((firing) => firing.tone === "failed").flatMap((firing) => firing.attempts);
  const ownFacts = useMemo(() => {
    const ids = new Set(graph?.nodes.map((node) => node.id));
    return node ? facts.filter((fact) => authorOf(fact, (id) => ids.has(id)) === node) : facts;
  }, [facts, node, graph?.nodes]);
  const whole = facts[0]?.seq === 1 && (facts.at(-1)?.seq ?? 0) >= run.facts; // else only a stretch of them is known
  const failedHere = at === null && !!run.failure && run.failure.node === node;
  const variables = graph?.variables ?? run.variables;
  const charts = useMemo(() => (node && at === null ? nodeCharts(run, facts, node) : []), [run, facts, node, at]);
  const own = parts.useTabs({ run, graph, node, at });
  const tabs: { id: string; text: string; n?: number; shown: boolean }[] = [
    { id: "summary", text: t.run.tab.summary, shown: true },
    ...own.tabs.map(({ id, text, count }) => ({ id, text, n: count, shown: true })),
    { id: "attempts", text: t.run.tab.attempts, n: attempts.length, shown: attempts.length > 0 },
    { id: "data", text: t.run.tab.data, n: Object.keys(variables).length, shown: true },
    { id: "facts", text: t.run.tab.facts, n: !node ? run.facts : whole ? ownFacts.length : undefined, shown: true },
    { id: "logs", text: t.run.tab.logs, shown: true },
    { id: "children", text: t.run.tab.children, n: run.children.length, shown: run.children.length > 0 },
  ];
  const first = own.first ?? (failedHere && attempts.length ? "attempts" : "summary");
  const shown = tabs.find((candidate) => candidate.id === tab && candidate.shown)?.id ?? first;
  return (
    <aside className="panel" aria-label={t.run.tab.panel}>
      <header>
        <p className="dim panel-kind">{drawn ? <>{typeWord(run.language, drawn.type)} · <span className="mono">{drawn.id}</span></> : <>{t.run.runSummary} · <Copyable text={run.id} show={run.id.slice(0, 18)} /></>}</p>
        <h2>{drawn ? labelOf(drawn, typeWord(run.language, drawn.type)) : run.title}</h2>
        {drawn && run.definition.version !== null && <Link className="panel-def" to={`/definitions/${encodeURIComponent(run.definition.name)}/versions/${run.definition.version}?node=${encodeURIComponent(drawn.id)}`}>{t.run.inDefinition}</Link>}
      </header>
      <div className="tabs" role="tablist" aria-label={t.run.tab.panel} onKeyDown={moveBetweenTabs}>
        {tabs.filter((tab) => tab.shown).map((tab) => (
          <button key={tab.id} type="button" role="tab" id={`tab-${tab.id}`} aria-selected={tab.id === shown} aria-controls="panel-body" tabIndex={tab.id === shown ? 0 : -1} onClick={() => setTab(tab.id)}>
            {tab.text}{tab.n !== undefined && <span> {tab.n}</span>}
          </button>
        ))}
      </div>
      <div className="panel-body" id="panel-body" role="tabpanel" aria-labelledby={`tab-${shown}`} tabIndex={0}>
        {shown === "summary" && <Summary run={run} parts={parts} graph={graph} node={drawn} firings={firings} facts={ownFacts} count={!node ? run.facts : whole ? ownFacts.length : null} at={at} charts={charts} />}
        {own.tabs.find(({ id }) => id === shown)?.body}
        {shown === "attempts" && <Attempts run={run} state={drawn ? graph?.states[drawn.id] : undefined} firings={node ? firings : began.filter((firing) => firing.tone === "failed")} failed={failedHere || (!node && at === null)} />}
        {shown === "attempts" && at !== null && <Data run={run} variables={variables} changed={changed} past brief />}
        {shown === "attempts" && at !== null && <section><h3>{t.run.around}</h3><FactLines facts={nearest(facts, at)} graph={graph} at={at} /></section>}
        {shown === "data" && <Data run={run} variables={variables} changed={changed} past={at !== null} />}
        {shown === "facts" && <Facts key={at} run={run} facts={ownFacts} graph={graph} node={node} at={at} whole={whole} />}
        {shown === "logs" && <Logs run={run} graph={graph} node={drawn?.id ?? null} at={at} />}
        {shown === "children" && <Children run={run} />}
      </div>
    </aside>
  );
}

/** The arrow keys select the previous or next tab. */
function moveBetweenTabs(event: KeyboardEvent<HTMLDivElement>): void {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const tabs = [...event.currentTarget.querySelectorAll<HTMLElement>("[role=tab]")];
  const at = tabs.indexOf(document.activeElement as HTMLElement);
  const next = by === undefined || at < 0 ? undefined : tabs[(at + by + tabs.length) % tabs.length];
  if (!next) return;
  event.preventDefault();
  next.focus();
  next.click();
}

/** A firing at a past moment: attempts that had not ended are open. */
function asOf(firing: Firing, time: string | null): Firing {
  if (!time) return firing;
  const attempts = firing.attempts.filter((attempt) => (attempt.started_at ?? "") <= time).map((attempt) => (attempt.ended_at && attempt.ended_at > time ? { ...attempt, ended_at: null, outcome: "", code: null, message: null, next_at: null } : attempt));
  return { ...firing, attempts };
}

function Row({ name, children }: { name: string; children: ReactNode }): ReactNode {
  return <div className="kv"><dt>{name}</dt><dd>{children}</dd></div>;
}

function Summary({ run, parts, graph, node, firings, facts, count, at, charts }: { run: Run; parts: RunParts; graph: Graph | undefined; node: GraphNode | null; firings: Firing[]; facts: Fact[]; count: number | null; at: number | null; charts: Dict[] }): ReactNode {
  const { t, f, nodeWord } = useWords();
  const now = useNow(1000);
  const why = at === null ? run.why.find((reason) => reason.node === node?.id) : undefined;
  const state = node ? graph?.states[node.id] : undefined;
  const last = firings.at(-1);
  return (
    <>
      {node && (
        <section>
          <div className="panel-line">
            {state && (state.count > 0 || state.tone !== "idle") ? <Badge tone={state.tone} state={state.state}>{nodeWord(run.language, state.status, state.state)}</Badge> : <span className="dim">{t.run.notReached}</span>}
            {state && state.count > 1 && <span className="dim">{t.run.times(state.count)}</span>}
          </div>
          <dl>
            {why && why.who.length > 0 && <Row name={t.run.who}><span className="faces">{why.who.slice(0, 3).map((id) => <Face key={id} name={person(id, t)} size={22} />)}</span>{why.who.map((id) => person(id, t)).join(", ")}</Row>}
            {why && <Due why={why} now={now} />}
            {last?.started_at && <Row name={t.run.startedRow}><time dateTime={last.started_at} title={f.title(last.started_at)}>{f.dayTime(last.started_at)}</time></Row>}
            {last?.ended_at && at === null && <Row name={t.run.tookRow}>{f.duration(Date.parse(last.ended_at) - Date.parse(last.started_at ?? last.ended_at))}</Row>}
            {last && last.attempts.length > 1 && <Row name={t.run.attemptsRow}>{last.attempts.length}</Row>}
          </dl>
        </section>
      )}
      {charts.length > 0 && <Charts value={charts} />}
      {!node && <RunRows run={run} />}
      {run.failure && (!node || run.failure.node === node.id) && at === null && <section><Failure run={run} /></section>}
      {why && (why.move === "approve" || why.then) && <Outcomes why={why} outcomes={parts.outcomes?.(t) ?? generalOutcomes(run, t)} />}
      <section>
        <div className="panel-line"><h3>{at === null ? t.run.recent : t.run.around}</h3><button type="button" className="linklike" onClick={() => setSearch({ tab: "facts" })}>{count === null ? t.home.seeAll : t.run.allFacts(f.number(count))}</button></div>
        <FactLines facts={nearest(facts, at)} graph={graph} at={at} />
      </section>
    </>
  );
}

function nearest(facts: Fact[], at: number | null): Fact[] {
  if (at === null) return facts.filter(isNews).slice(-6).reverse();
  const here = facts.findLastIndex((fact) => fact.seq <= at);
  return facts.slice(Math.max(0, here - 3), here + 4);
}

function Due({ why, now }: { why: Why; now: number }): ReactNode {
  const { t, f } = useWords();
  if (!why.until) return <Row name={t.run.dueRow}>{t.run.dueNone}</Row>;
  const [since, until] = [Date.parse(why.since ?? why.until), Date.parse(why.until)];
  const used = Math.min(1, Math.max(0, (now - since) / Math.max(1, until - since)));
  const then = why.then && { escalate: t.run.thenEscalate, fail: t.run.thenFail, continue: t.run.thenContinue, retry: t.run.thenRetry, path: t.run.thenPath(why.then.to ?? "") }[why.then.kind];
  return (
    <>
      <Row name={t.run.dueRow}>
        <b>{f.when(why.until, now)}</b> · {until > now ? t.run.leftOf(f.duration(until - now)) : t.run.over(f.duration(now - until))}
        <span className="bar" role="img" aria-label={`${Math.round(used * 100)}%`}><i style={{ width: `${used * 100}%` }} /></span>
      </Row>
      {then && <Row name={t.run.afterDue}>{then}</Row>}
    </>
  );
}

function generalOutcomes(run: Run, t: Dictionary): Outcome[] {
  const reject: Outcome = { tone: "failed", word: t.inbox.reject, text: t.inbox.effectDefault.reject };
  return [{ tone: "done", word: t.inbox.approve, text: t.inbox.effectDefault.approve }, ...(run.moves.some((move) => move.verb === "reject") ? [reject] : [])];
}

function Outcomes({ why, outcomes }: { why: Why; outcomes: Outcome[] }): ReactNode {
  const { t } = useWords();
  if (why.move !== "approve") return null;
  return (
    <section>
      <h3>{t.run.whatNext}</h3>
      {outcomes.map(({ tone, word, text }) => <p key={tone} className="next"><Badge tone={tone} icon={tone === "done" ? Check : X}>{word}</Badge>{text}</p>)}
    </section>
  );
}

function RunRows({ run }: { run: Run }): ReactNode {
  const { t, f } = useWords();
  return (
    <section>
      <dl>
        {run.key && <Row name={t.run.key}><Copyable text={run.key} /></Row>}
        {run.started_at && <Row name={t.run.startedRow}><time dateTime={run.started_at} title={f.title(run.started_at)}>{f.dayTime(run.started_at)}</time></Row>}
        {run.ended_at && <Row name={t.run.endedRow}><time dateTime={run.ended_at} title={f.title(run.ended_at)}>{f.dayTime(run.ended_at)}</time></Row>}
        <Row name={t.run.tookRow}>{f.duration(run.active_ms)}</Row>
        {run.parent && <Row name={t.run.parent}><Link to={`/runs/${run.parent}`} className="mono">{run.parent.slice(0, 18)}</Link></Row>}
      </dl>
      <h3>{t.run.input}</h3>
      <JsonView value={run.input} />
      {run.output !== null && run.output !== undefined && <><h3>{t.run.output}</h3><JsonView value={run.output} /></>}
    </section>
  );
}

function Failure({ run }: { run: Run }): ReactNode {
  const { failure } = run;
  if (!failure) return null;
  return (
    <div className="failure">
      <p className="failure-code">{failure.code}</p>
      <p>{failure.message}</p>
      {failure.hint && <p className="failure-hint"><Lightbulb size={15} aria-hidden />{failure.hint}</p>}
    </div>
  );
}

function Attempts({ run, state, firings, failed }: { run: Run; state: NodeState | undefined; firings: Firing[]; failed: boolean }): ReactNode {
  const { t, f, nodeWord } = useWords();
  const all = firings.flatMap((firing) => firing.attempts.map((attempt) => ({ firing, attempt }))).reverse();
  return (
    <>
      {failed && run.failure && <section><Failure run={run} /></section>}
      <section className="attempts">
        {state && state.count > 0 && <div className="panel-line"><Badge tone={state.tone} state={state.state}>{nodeWord(run.language, state.status, state.state)}</Badge><span className="dim">{t.run.tryOf(Math.max(1, state.attempt))}</span></div>}
        {all.length === 0 && <p className="dim">{t.run.noAttempts}</p>}
        {all.map(({ firing, attempt }) => {
          const bad = attempt.outcome === "failed" || !!attempt.code;
          const took = attempt.started_at && attempt.ended_at ? Date.parse(attempt.ended_at) - Date.parse(attempt.started_at) : null;
          return (
            <div key={`${firing.id}-${attempt.n}`} className="attempt">
              <div className="panel-line">
                <Badge tone={bad ? "failed" : attempt.ended_at ? "done" : "moving"}>{t.run.attemptN(attempt.n)}</Badge>
                <span className="dim">{attempt.started_at && f.seconds(attempt.started_at)}{took !== null && ` · ${f.duration(took)}`}</span>
              </div>
              {bad && !(failed && run.failure?.code === attempt.code) && (
                <div className="failure">
                  {attempt.code && <p className="failure-code">{attempt.code}</p>}
                  {attempt.message && <p>{attempt.message}</p>}
                  {attempt.next_at && attempt.ended_at && <p className="failure-hint"><Lightbulb size={15} aria-hidden />{t.run.nextTry(f.seconds(attempt.next_at), f.duration(Date.parse(attempt.next_at) - Date.parse(attempt.ended_at)))}</p>}
                </div>
              )}
            </div>
          );
        })}
      </section>
    </>
  );
}

function Data({ run, variables, changed, past, brief = false }: { run: Run; variables: Dict; changed: Set<string>; past: boolean; brief?: boolean }): ReactNode {
  const { t } = useWords();
  const lines = Object.entries(variables).flatMap(([name, value]) => leaves(name, value));
  return (
    <>
      <section>
        <div className="panel-line"><h3>{past ? t.run.variablesAt : t.run.variables}</h3>{past && <span className="dim">{t.run.vsPrevious}</span>}</div>
        {lines.length === 0 && <p className="dim">{t.run.noData}</p>}
        <dl className="vars">
          {lines.map(([name, value]) => {
            const text = value === undefined ? t.common.notYet : JSON.stringify(value);
            return (
              <div key={name} className={changed.has(name) ? "changed" : ""}>
                <dt title={name}>{changed.has(name) ? "+ " : ""}{name}</dt>
                {text.length > 60 ? <dd className="long"><details><summary>{text.slice(0, 40)}…</summary><JsonView value={value ?? null} /></details></dd> : <dd>{text}</dd>}
              </div>
            );
          })}
        </dl>
      </section>
      {!brief && <section><h3>{t.run.input}</h3><JsonView value={run.input} /></section>}
      {!brief && run.output !== null && run.output !== undefined && <section><h3>{t.run.output}</h3><JsonView value={run.output} /></section>}
    </>
  );
}

export function JsonView({ value }: { value: Json }): ReactNode {
  const { t } = useWords();
  const text = JSON.stringify(value, null, 2) ?? "null";
  return (
    <>
      <pre className="code" tabIndex={0}>{text.slice(0, PREVIEW)}</pre>
      {text.length > PREVIEW && <p className="dim">{t.run.large}</p>}
    </>
  );
}

/** The last facts, or those around the playhead; of a long run the others come by the page. */
function Facts({ run, facts, graph, node, at, whole }: { run: Run; facts: Fact[]; graph: Graph | undefined; node: string | null; at: number | null; whole: boolean }): ReactNode {
  const { t, f } = useWords();
  const [after, setAfter] = useState<number | null>(null);
  const page = useGet<FactPage>(after === null ? null : `/runs/${encodeURIComponent(run.id)}/facts?after=${after}&limit=${WINDOW}`).data;
  const ids = useMemo(() => new Set(graph?.nodes.map((drawn) => drawn.id)), [graph?.nodes]);
  const own = (fact: Fact) => !node || authorOf(fact, (id) => ids.has(id)) === node;
  const shown = after === null ? (at === null ? facts.slice(-WINDOW) : facts.filter((fact) => Math.abs(fact.seq - at) <= WINDOW / 2)) : (page?.items ?? []).filter(own);
  const first = after === null ? (at === null ? Math.max(0, run.facts - WINDOW) : Math.max(0, at - WINDOW / 2 - 1)) : after;
  // a fact may have several lines, so a page may end earlier
  const last = after === null ? Math.min(run.facts, first + WINDOW) : (page?.items.at(-1)?.seq ?? first);
  return (
    <section>
      {!whole && <p className="panel-line"><span className="dim">{t.run.factsFrom(f.number(first + 1), f.number(last), f.number(run.facts))}</span><span><Button disabled={first === 0} onClick={() => setAfter(Math.max(0, first - WINDOW))}>{t.run.factsBefore}</Button> <Button disabled={last >= run.facts} onClick={() => setAfter(last)}>{t.run.factsAfter}</Button></span></p>}
      {shown.length === 0 ? <p className="dim panel-empty">{t.run.noFacts}</p> : <FactLines facts={shown} graph={graph} at={at} numbers />}
    </section>
  );
}

function FactLines({ facts, graph, at, numbers }: { facts: Fact[]; graph: Graph | undefined; at: number | null; numbers?: boolean }): ReactNode {
  const { t, f } = useWords();
  const label = (id: string) => graph?.nodes.find((node) => node.id === id)?.label ?? id;
  return (
    <ol className="facts">
      {facts.map((fact) => (
        <li key={`${fact.seq} ${fact.fact} ${fact.node}`}>
          <button type="button" className={`${fact.seq === at ? "fact-here" : ""} ${at !== null && fact.seq > at ? "fact-ahead" : ""}`} aria-current={fact.seq === at ? "true" : undefined} title={`${fact.fact} · ${f.title(fact.at)}`} onClick={() => setSearch({ at: String(fact.seq) })}>
            <time className="mono" dateTime={fact.at}>{numbers ? `${fact.seq}` : f.beat(fact.at)}</time>
            <span>{factText(fact, label, t)}</span>
          </button>
        </li>
      ))}
    </ol>
  );
}

function Children({ run }: { run: Run }): ReactNode {
  const { runWord } = useWords();
  return (
    <section>
      <ul className="children">
        {run.children.map((child) => (
          <li key={child.id}>
            <Link to={`/runs/${child.id}`}><span className="grow"><b>{child.title}</b><span className="dim"> {child.key ?? child.id.slice(0, 9)}</span></span><Badge tone={child.tone} state={child.state}>{runWord(child)}</Badge></Link>
            <p className="dim"><Ago time={child.updated_at} /></p>
          </li>
        ))}
      </ul>
    </section>
  );
}
