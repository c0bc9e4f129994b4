/** The rules of a pack for people: conditions with what they decide, a decision table, or decisions that need each other. */
import { Check } from "lucide-react";
import type { ReactNode } from "react";
import { isDict, listOf, textOf } from "../api/json";
import type { Dict, Json } from "../api/types";
import { Badge, Card, Empty, Tag } from "../components";
import { useRulesWords } from "./speech";
import { confidenceText, decisionTone } from "./verdict";

type Matched = Set<string> | null;

export function RuleTable({ body, matched }: { body: Dict; matched: Matched }): ReactNode {
  const { t } = useRulesWords();
  const d = t.rules.table;
  const rules = listOf(body.rules);
  const decisions = listOf(body.decisions);
  const policy = textOf(body.hit_policy) || "severity_max";
  return (
    <Card className="pack-rules" label={d.title}>
      <div className="card-head"><h2>{d.title}</h2>{rules.length > 0 && <span className="end dim">{d.policy}: {d.policies[policy] ?? policy}</span>}</div>
      {rules.length > 0 ? <Conditions rules={rules} otherwise={isDict(body.default) ? body.default : null} matched={matched} />
        : isDict(body.table) ? <Grid table={body.table} prefix="" matched={matched} />
        : decisions.length > 0 ? decisions.map((decision, i) => <SubDecision key={i} decision={decision} alone={decisions.length === 1} matched={matched} />)
        : isDict(body.dmn) ? <><p className="pack-note dim">{d.model}</p><pre className="pack-source mono" tabIndex={0}>{textOf(body.dmn.model)}</pre></>
        : <Empty title={d.none} />}
    </Card>
  );
}

function Conditions({ rules, otherwise, matched }: { rules: Dict[]; otherwise: Dict | null; matched: Matched }): ReactNode {
  const { t, f } = useRulesWords();
  const d = t.rules.table;
  return (
    <div className="pack-scroll" tabIndex={0} role="region" aria-label={d.title}>
      <table className="rules-table rules-lines">
        <thead><tr><th>{d.rule}</th><th>{d.when}</th><th>{d.decision}</th><th className="num">{d.confidence}</th></tr></thead>
        <tbody>
          {rules.map((rule, i) => {
            const id = textOf(rule.id);
            const decision = textOf(rule.decision) || "unknown";
            return (
              <tr key={i} data-rule={id} data-matched={matched?.has(id) || undefined} className={rule.enabled === false ? "rule-off" : ""}>
                <td><b>{textOf(rule.name) || id}</b><span className="dim mono">{id}</span>{matched?.has(id) && <Hit />}{rule.enabled === false && <Tag>{d.off}</Tag>}</td>
                <td><code className="rule-when">{textOf(rule.when)}</code><span className="dim">{d.scope[textOf(rule.scope) || "dataset"] ?? textOf(rule.scope)}{rule.threshold !== undefined && rule.threshold !== null && <> · {d.threshold} {textOf(rule.threshold)}</>}{isDict(rule.params) && Object.entries(rule.params).map(([name, value]) => <span key={name}> · {name} {textOf(value)}</span>)}</span></td>
                <td><Badge tone={decisionTone(decision)}>{decision}</Badge></td>
                <td className="num">{confidenceText(typeof rule.confidence === "number" ? rule.confidence : 1, f)}</td>
              </tr>
            );
          })}
          {otherwise && <tr className="rule-otherwise"><td colSpan={2} className="dim">{d.otherwise}</td><td><Badge tone={decisionTone(textOf(otherwise.decision) || "normal")}>{textOf(otherwise.decision) || "normal"}</Badge></td><td className="num">{confidenceText(typeof otherwise.confidence === "number" ? otherwise.confidence : 1, f)}</td></tr>}
        </tbody>
      </table>
    </div>
  );
}

/** A decision table: inputs, then outputs; a line that matched is marked. */
function Grid({ table, prefix, matched }: { table: Dict; prefix: string; matched: Matched }): ReactNode {
  const { t } = useRulesWords();
  const d = t.rules.table;
  const inputs = listOf(table.inputs);
  const outputs = listOf(table.outputs);
  const cells = (values: Json | undefined): string[] => (Array.isArray(values) ? values.map((value) => textOf(value)) : []);
  return (
    <div className="pack-scroll" tabIndex={0} role="region" aria-label={prefix || d.title}>
      <table className="rules-table rules-lines">
        <thead><tr><th>{d.line} <span className="dim mono">{textOf(table.hit_policy) || "U"}</span></th>{inputs.map((input, i) => <th key={i}>{textOf(input.name) || textOf(input.expression)}</th>)}{outputs.map((output, i) => <th key={i} className="rules-out">{textOf(output.name) || d.result}</th>)}</tr></thead>
        <tbody>
          {listOf(table.rules).map((line, i) => {
            const id = textOf(line.id) || String(i + 1);
            const hit = matched?.has(prefix ? `${prefix}.${id}` : id);
            return (
              <tr key={i} data-rule={id} data-matched={hit || undefined}>
                <td><b>{textOf(line.name) || id}</b>{hit && <Hit />}</td>
                {cells(line.when).map((text, n) => <td key={n}><code>{text || "-"}</code></td>)}
                {cells(line.then).map((text, n) => <td key={n} className="rules-out"><code>{text}</code></td>)}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function SubDecision({ decision, alone, matched }: { decision: Dict; alone: boolean; matched: Matched }): ReactNode {
  const { t } = useRulesWords();
  const id = textOf(decision.id);
  const requires = Array.isArray(decision.requires) ? decision.requires.map((name) => textOf(name)) : [];
  return (
    <section className="pack-decision">
      <h3>{textOf(decision.name) || id} {requires.length > 0 && <span className="dim">{t.rules.table.requires}: {requires.join(", ")}</span>}</h3>
      {isDict(decision.table) ? <Grid table={decision.table} prefix={alone ? "" : id} matched={matched} /> : <code className="rule-when">{textOf(decision.expression)}</code>}
    </section>
  );
}

function Hit(): ReactNode {
  const { t } = useRulesWords();
  return <span className="rule-hit"><Check size={13} strokeWidth={2.4} aria-hidden />{t.rules.table.matched}</span>;
}
