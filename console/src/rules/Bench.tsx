/** The test bench: an input, a version or a draft that nobody saves, and what comes out. What is typed stays. */
import { FlaskConical, RotateCcw } from "lucide-react";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { isDict } from "../api/json";
import type { Dict, PackDetail, Trial } from "../api/types";
import { Button, Card, Empty, Segment, Skeleton } from "../components";
import { useStoredText } from "../definitions/storedText";
import { readJson, writeJson } from "./json";
import { JsonBox } from "./JsonBox";
import { TrialFailed } from "./TrialFailed";
import { tryPack, type TrialAsked } from "./requests";
import { Result } from "./Result";
import { useRulesWords } from "./speech";
import { useTrial } from "./useTrial";

/** `outdated`: another version was chosen and is on its way. A trial of this one would vanish with it. */
export function Bench({ pack, outdated, onTrial, onDraft }: { pack: PackDetail; outdated: boolean; onTrial: (trial: Trial | null) => void; onDraft: (body: Dict | null) => void }): ReactNode {
  const { t } = useRulesWords();
  const d = t.rules.bench;
  const first = pack.first_input;
  const [typedData, storeData] = useStoredText(`ps.rules.data.${pack.id}`);
  const [typedContext, storeContext] = useStoredText(`ps.rules.context.${pack.id}`);
  const [typedDraft, storeDraft] = useStoredText(`ps.rules.draft.${pack.id}.${pack.version}`);
  const [target, setTarget] = useState<"saved" | "draft">(typedDraft === null ? "saved" : "draft");
  const trial = useTrial<Trial>();
  const [asked, setAsked] = useState("");
  const data = typedData ?? writeJson(first?.data);
  const context = typedContext ?? writeJson(first?.context);
  const draft = typedDraft ?? writeJson(pack.body);
  const readDraft = target === "draft" ? readJson(draft) : null;
  const body = readDraft && "value" in readDraft && isDict(readDraft.value) ? readDraft.value : null;
  const result = useRef<HTMLDivElement>(null);
  useEffect(() => onTrial(trial.answer), [trial.answer]);
  useEffect(() => onDraft(body), [target, draft]);
  useEffect(() => () => { onTrial(null); onDraft(null); }, []);
  const now = JSON.stringify([data, context, target, target === "draft" ? draft : pack.version]);
  const readData = readJson(data);
  const readContext = readJson(context);
  const ready = !outdated && "value" in readData && "value" in readContext && (target === "saved" || body !== null);
  const run = () => {
    if (!ready) return;
    const what: TrialAsked = { data: readData.value, context: readContext.value, ...(body ? { draft: body } : { version: pack.version }) };
    setAsked(now);
    void trial.ask((signal) => tryPack(pack.id, what, signal)).then(() => result.current?.scrollIntoView({ block: "nearest" }));
  };
  return (
    <Card className="bench" label={d.title}>
      <div className="card-head"><FlaskConical size={16} className="dim" aria-hidden /><h2>{d.title}</h2></div>
      <div className="bench-in">
        <Segment label={d.target} value={target} options={[{ id: "saved", text: `${d.saved} ${pack.version}` }, { id: "draft", text: d.draft }]} onChange={setTarget} />
        {target === "draft" && <>
          <JsonBox label={d.draftLabel} hint={d.draftHint} rows={12} value={draft} problem={body === null ? d.notObject : null} onChange={storeDraft} onRun={run} />
          {typedDraft !== null && <Button look="quiet" icon={RotateCcw} onClick={() => storeDraft(null)}>{d.draftReset}</Button>}
        </>}
        <JsonBox label={d.data} hint={d.dataHint} rows={7} value={data} onChange={storeData} onRun={run} />
        <JsonBox label={d.context} hint={d.contextHint} rows={2} value={context} onChange={storeContext} onRun={run} />
        <p className="dim bench-from">{typedData !== null ? <Button look="quiet" icon={RotateCcw} onClick={() => { storeData(null); storeContext(null); }}>{d.reset}</Button> : first ? d.from[first.origin](first.name) : d.fromNone}</p>
        <Button look="primary" icon={FlaskConical} hint="Ctrl ↵" disabled={!ready || trial.running} onClick={run}>{trial.running ? d.running : d.run}</Button>
      </div>
      <div className="bench-out" ref={result} aria-live="polite" aria-busy={trial.running}>
        {trial.error ? <TrialFailed error={trial.error} retry={run} />
          : trial.answer ? <>{asked !== now && <p className="bench-stale ink-held">{d.stale}</p>}<Result trial={trial.answer} /></>
          : trial.running ? <div className="bench-in"><Skeleton h={28} n={4} /></div>
          : <Empty title={d.idle} text={d.idleDo} />}
      </div>
    </Card>
  );
}
