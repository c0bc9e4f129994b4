/** The attempts of a task, the newest first: who, how long, how it ended, and what it cost. */
import type { ReactNode } from "react";
import { Ago, Badge, Button, Tag } from "../components";
import { setSearch } from "../shell/router";
import { useNow, useWords } from "../words";
import { executionTone } from "./taskStanding";
import type { Execution } from "./types";

export function Attempts({ executions, shown }: { executions: Execution[]; shown: string | null }): ReactNode {
  const { t } = useWords();
  if (executions.length === 0) return <section><p className="dim">{t.plan.attemptsNone}</p></section>;
  return <>{executions.map((execution) => <Attempt key={execution.session} execution={execution} here={execution.session === shown} />)}</>;
}

function Attempt({ execution, here }: { execution: Execution; here: boolean }): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  const now = useNow(1000);
  const took = execution.durationMs ?? (execution.startedAt !== null && execution.status === "running" ? Math.max(0, now - Date.parse(execution.startedAt)) : null);
  const rows: [string, ReactNode][] = [
    [p.took, took === null ? null : f.duration(took)], [p.pid, execution.pid], [p.exitCode, execution.exitCode],
    [p.tokens, execution.tokensIn + execution.tokensOut > 0 ? p.tokensInOut(f.number(execution.tokensIn), f.number(execution.tokensOut)) : null],
    [p.cost, execution.costUsd > 0 ? `$${execution.costUsd.toFixed(4)}` : null],
  ];
  return (
    <section className="attempt-of" data-session={execution.session} aria-label={p.attemptN(execution.attempt)}>
      <div className="panel-line">
        <h3>{p.attemptN(execution.attempt)}</h3>
        <Badge tone={executionTone(execution)}>{p.execution[execution.status] ?? execution.status}</Badge>
        <span className="grow dim cut"><span className="mono">{execution.agent}</span>{execution.startedAt !== null && <> · <Ago time={execution.startedAt} /></>}</span>
        <Button look="quiet" aria-pressed={here} onClick={() => setSearch({ session: execution.session, tab: "live" })}>{p.seeSession}</Button>
      </div>
      {execution.error && <p className="failure">{execution.code && <span className="failure-code">{execution.code}</span>}<span>{execution.error}</span></p>}
      <dl>{rows.filter(([, value]) => value !== null).map(([name, value]) => <div key={name} className="kv"><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
      <p className="attempt-tags">
        {execution.trigger && <Tag>{p.triggers[execution.trigger] ?? execution.trigger}</Tag>}
        {execution.resume && <Tag>{p.resumed}</Tag>}
        {execution.confidence !== null && <Tag>{p.confidence(f.number(execution.confidence))}</Tag>}
      </p>
      {execution.killFailed && <p className="ink-failed">{p.killFailed}</p>}
      {execution.landlock !== null && <p className="dim">{execution.landlock ? p.landlocked : p.noLandlock}</p>}
    </section>
  );
}
