/** What came out: a sentence, the rules that matched, what is different from the version in force, the pack's own tests. */
import { Check, X } from "lucide-react";
import type { ReactNode } from "react";
import type { Json, PackInForce, RuleVerdict, Trial } from "../api/types";
import { Badge } from "../components";
import { Rich } from "../words/rich";
import { FindingList } from "./FindingList";
import { useRulesWords } from "./speech";
import { confidenceText, decisionTone, shortText } from "./verdict";

export function Result({ trial }: { trial: Trial }): ReactNode {
  const { t, f } = useRulesWords();
  const d = t.rules.result;
  const verdict = trial.verdict;
  return (
    <div className="trial">
      <section className={`trial-said tone-${verdict ? decisionTone(verdict.decision) : "failed"}`}>
        {verdict ? <>
          <h3><span><Rich text={d.decided(verdict.decision, confidenceText(verdict.confidence, f))} /></span> <Badge tone={decisionTone(verdict.decision)}>{verdict.decision}</Badge></h3>
          {verdict.reasoning && <p className="trial-reason">{verdict.reasoning}</p>}
          {verdict.recommendations.length > 0 && <p className="dim">{d.recommendations}: {verdict.recommendations.join(", ")}</p>}
          {verdict.outputs !== null && <p className="dim">{d.outputs}: <code>{shortText(verdict.outputs)}</code></p>}
        </> : trial.problem && <><h3><Rich text={d.failed} /></h3><p>{trial.problem.message}</p><p className="dim"><code>{trial.problem.code}</code>{trial.problem.rule && <> · {d.inRule(trial.problem.rule)}</>}</p></>}
      </section>
      {verdict && <Matched trial={trial} />}
      <Against version={trial.in_force} tried={verdict} />
      <Tests trial={trial} />
      {trial.findings.length > 0 && <section><h3>{d.findings}</h3><FindingList findings={trial.findings} /></section>}
    </div>
  );
}

function Matched({ trial }: { trial: Trial }): ReactNode {
  const { t, f } = useRulesWords();
  const d = t.rules.result;
  if (trial.matched.length === 0) return <section><h3>{d.noneMatched}</h3></section>;
  return (
    <section>
      <h3>{d.matched(f.number(trial.matched.length))}</h3>
      <ul className="trial-rules">
        {trial.matched.map((rule) => (
          <li key={rule.id}>
            <p><Check size={13} strokeWidth={2.4} aria-hidden /><b>{rule.name}</b> {rule.name !== rule.id && <span className="dim mono">{rule.id}</span>} {rule.decision && <Badge tone={decisionTone(rule.decision)}>{rule.decision}</Badge>} {rule.confidence !== null && <span className="dim">{confidenceText(rule.confidence, f)}</span>}</p>
            {rule.reasoning && <p className="dim">{rule.reasoning}</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Against({ version, tried }: { version: PackInForce | null; tried: RuleVerdict | null }): ReactNode {
  const { t, f } = useRulesWords();
  const d = t.rules.result;
  if (!version) return <section><p className="dim">{d.noForce}</p></section>;
  const text = (field: string, value: Json): string => (field === "confidence" && typeof value === "number" ? confidenceText(value, f) : shortText(value));
  const [before, after] = [version.verdict?.decision, tried?.decision];
  return (
    <section className="trial-against">
      <h3>{d.against(version.version)}</h3>
      {version.same ? <p className="dim">{d.same}</p>
        : version.problem ? <p><span className="ink-held">{d.forceFailed}</span> <span className="dim">{version.problem.message}</span></p>
        : version.differences.length === 0 ? <p><Badge tone="done">{d.noDifference}</Badge></p> : <>
          <p>{before && after && before !== after ? <Rich text={d.differs(before, after)} /> : d.differsElse}</p>
          <table className="rules-table trial-diff">
            <thead><tr><th>{d.columns.field}</th><th>{d.columns.before}</th><th>{d.columns.after}</th></tr></thead>
            <tbody>{version.differences.map((difference) => <tr key={difference.field}><th scope="row">{d.field[difference.field] ?? difference.field}</th><td><del>{text(difference.field, difference.before)}</del></td><td><ins>{text(difference.field, difference.after)}</ins></td></tr>)}</tbody>
          </table>
        </>}
    </section>
  );
}

function Tests({ trial }: { trial: Trial }): ReactNode {
  const { t, f } = useRulesWords();
  const d = t.rules.result;
  const right = trial.tests.filter((test) => test.ok).length;
  return (
    <section className="trial-tests">
      <h3>{d.tests} {trial.tests.length > 0 && <Badge tone={right === trial.tests.length ? "done" : "failed"}>{d.testsRight(f.number(right), f.number(trial.tests.length))}</Badge>}</h3>
      {trial.tests.length === 0 && trial.tests_left === 0 && <p className="dim">{d.noTests}</p>}
      <ul>{trial.tests.map((test, i) => <li key={i} className={`tone-${test.ok ? "done" : "failed"}`}>{test.ok ? <Check size={13} strokeWidth={2.4} aria-hidden /> : <X size={13} strokeWidth={2.4} aria-hidden />}<span><b>{test.name}</b> {test.ok ? d.right : d.wrong} <span className="dim">{test.ok ? test.decision : test.wrong}</span></span></li>)}</ul>
      {trial.tests_left > 0 && <p className="ink-held">{d.left(f.number(trial.tests_left))}</p>}
    </section>
  );
}
