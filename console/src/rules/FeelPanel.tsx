/** FEEL by itself: an expression or unary tests with values, and what comes out with its places marked. */
import "./rules.css";
import { Calculator, TriangleAlert } from "lucide-react";
import { useState, type ReactNode } from "react";
import { ApiError } from "../api/client";
import { isDict } from "../api/json";
import type { FeelValue } from "../api/types";
import { Button, Card, Copyable, Empty, Failed, Segment, Skeleton, Tag } from "../components";
import { useStoredText } from "../definitions/storedText";
import { useParam } from "../shell/router";
import { readJson, writeJson } from "./json";
import { JsonBox } from "./JsonBox";
import { Place } from "./Place";
import { tryFeel } from "./requests";
import { useRulesWords } from "./speech";
import { useTrial } from "./useTrial";

const EXAMPLE = "for x in [1, 2, 3] return x * rate";
const EXAMPLE_CONTEXT = '{ "rate": 0.1 }';

export default function FeelPanel(): ReactNode {
  const { t } = useRulesWords();
  const d = t.rules.feel;
  const [kindParam, setKind] = useParam("kind");
  const kind = kindParam === "unary" ? "unary_tests" : "expression";
  const [typed, storeText] = useStoredText("ps.feel.text");
  const [typedContext, storeContext] = useStoredText("ps.feel.context");
  const [typedValue, storeValue] = useStoredText("ps.feel.value");
  const [strict, setStrict] = useState(false);
  const [evaluated, setEvaluated] = useState("");
  const trial = useTrial<FeelValue>();
  const text = typed ?? EXAMPLE;
  const contextText = typedContext ?? EXAMPLE_CONTEXT;
  const context = readJson(contextText);
  const value = readJson(typedValue ?? "");
  const names = "value" in context && (context.value === null || isDict(context.value)) ? context.value ?? {} : null;
  const ready = text.trim() !== "" && names !== null && (kind === "expression" || "value" in value);
  const run = () => {
    if (!ready) return;
    setEvaluated(text);
    void trial.ask((signal) => tryFeel({ text, context: names, kind, strict, ...(kind === "unary_tests" && "value" in value ? { value: value.value } : {}) }, signal));
  };
  return (
    <>
      <div><h1>{d.headline}</h1><p className="dim">{d.about}</p></div>
      <div className="feel">
        <Card className="bench" label={d.text}>
          <div className="bench-in">
            <Segment label={d.kind} value={kind} options={[{ id: "expression", text: d.expression }, { id: "unary_tests", text: d.unary }]} onChange={(next) => setKind(next === "unary_tests" ? "unary" : null)} />
            <label><span className="label">{kind === "expression" ? d.expression : d.unary}</span>
              <textarea className="input mono" rows={5} maxLength={10_000} spellCheck={false} autoCapitalize="off" value={text} onChange={(event) => storeText(event.target.value)} onKeyDown={(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(); } }} />
            </label>
            {kind === "unary_tests" && <JsonBox label={d.value} hint={d.valueHint} rows={1} value={typedValue ?? ""} onChange={storeValue} onRun={run} />}
            <JsonBox label={d.context} hint={d.contextHint} rows={4} value={contextText} problem={names === null ? d.notObject : null} onChange={storeContext} onRun={run} />
            <label className="feel-strict"><input type="checkbox" checked={strict} onChange={(event) => setStrict(event.target.checked)} /><span>{d.strict} <span className="dim">{d.strictHint}</span></span></label>
            <Button look="primary" icon={Calculator} hint="Ctrl ↵" disabled={!ready || trial.running} onClick={run}>{trial.running ? d.running : d.run}</Button>
          </div>
        </Card>
        <Card className="bench" label={d.result}>
          <div aria-live="polite" aria-busy={trial.running}>
            {trial.error ? <Wrong error={trial.error} text={evaluated} retry={run} />
              : trial.answer ? <Value answer={trial.answer} text={evaluated} />
              : trial.running ? <div className="bench-in"><Skeleton h={28} n={3} /></div>
              : <Empty title={d.idle} text={d.idleDo} />}
          </div>
        </Card>
      </div>
    </>
  );
}

function Value({ answer, text }: { answer: FeelValue; text: string }): ReactNode {
  const { t, f } = useRulesWords();
  const d = t.rules.feel;
  return (
    <div className="trial">
      <section><h3>{d.result} <Tag>{d.types[answer.type] ?? answer.type}</Tag></h3><pre className="feel-value mono" tabIndex={0}>{answer.text}</pre></section>
      <section><dl className="feel-about"><div><dt>{d.type}</dt><dd className="mono">{answer.type}</dd></div><div><dt>{d.json}</dt><dd><Copyable text={writeJson(answer.value) || "null"} show={short(JSON.stringify(answer.value))} /></dd></div>{answer.names.length > 0 && <div><dt>{d.reads}</dt><dd className="mono">{answer.names.join(", ")}</dd></div>}</dl></section>
      <section>
        <h3 className={answer.warnings.length ? "ink-held" : "dim"}>{answer.warnings.length ? <><TriangleAlert size={14} aria-hidden /> {d.warnings(f.number(answer.warnings.length))}</> : d.noWarnings}</h3>
        <ul className="feel-warnings">{answer.warnings.map((warning, i) => <li key={i}><p>{warning.message} <span className="dim">· {d.at(f.number(warning.position))}</span></p><Place text={text} position={warning.position} /></li>)}</ul>
      </section>
    </div>
  );
}

function Wrong({ error, text, retry }: { error: unknown; text: string; retry: () => void }): ReactNode {
  const { t, f } = useRulesWords();
  const problem = error instanceof ApiError ? error.problem : null;
  if (!problem?.position) return <Failed error={error} retry={retry} />;
  return (
    <div className="trial" role="alert">
      <section>
        <h3 className="ink-failed"><TriangleAlert size={14} aria-hidden /> {t.rules.feel.wrong} <span className="dim">{t.rules.feel.at(f.number(problem.position))}</span></h3>
        <p>{problem.detail}</p>
        <Place text={text} position={problem.position} />
        {problem.hint && <p className="dim">{problem.hint}</p>}
        <p className="dim">{t.error.code} <Copyable text={problem.code} /></p>
      </section>
    </div>
  );
}

const short = (text: string): string => (text.length > 80 ? `${text.slice(0, 79)}…` : text);
