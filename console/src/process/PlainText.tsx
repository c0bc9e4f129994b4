/** A process described in plain words, and the proposal that was read from it: what it adds, and the words each element came from. */
import { Sparkles } from "lucide-react";
import { useState, type ReactNode } from "react";
import { isDict, listOf } from "../api/json";
import { Button } from "../components";
import { Differences } from "../definitions/Differences";
import { useStoredText } from "../definitions/storedText";
import { TextDiff } from "../definitions/TextDiff";
import type { PlainTextProps } from "../languages/contract";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import { compareProcesses, DEFINITION } from "./compare";
import { extract } from "./requests";
import { SourceWords } from "./SourceWords";

export default function PlainText({ user, from, before, text: old, proposal, onProposal, onPick, onAccept }: PlainTextProps): ReactNode {
  const { t, f } = useWords();
  const d = t.definitions;
  const [stored, store] = useStoredText(`ps.plain.${user}`);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const text = stored ?? "";
  const ask = async () => {
    setBusy(true);
    setError(null);
    try {
      onProposal(await extract(text, from));
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  };
  const proposed = proposal ? JSON.stringify(proposal.definition, null, 2) : "";
  const differences = proposal ? compareProcesses(isDict(before) ? before : {}, proposal.definition).filter(({ collection }) => collection !== DEFINITION && collection !== "transitions") : [];
  return (
    <div className="def-scroll def-plain">
      <label><span className="label">{d.plainLabel}<span className="dim">{d.plainHint}</span></span><textarea className="input" rows={9} value={text} placeholder={d.plainSample} onChange={(event) => { store(event.target.value || null); onProposal(null); }} /></label>
      <div className="dialog-foot"><Button icon={Sparkles} disabled={!text.trim() || busy} onClick={() => void ask()}>{busy ? d.reading : d.readIt}</Button></div>
      {error !== null && <p className="bad" role="alert">{errorText(error, t)}</p>}
      {proposal && (
        <section className="def-proposal" aria-label={d.proposal}>
          <h2>{d.proposal}</h2>
          <p>{d.proposedList(listOf(proposal.definition["activities"]).length)} · <b>{d.confidence(f.number(Math.round(proposal.confidence * 100)))}</b> <span className="dim">{proposal.source === "rules" ? d.byRules : proposal.source}</span></p>
          {proposal.note && <p className="dim">{proposal.note}</p>}
          {proposal.findings.map((finding, i) => <p key={i} className={finding.severity === "error" ? "ink-failed" : "ink-held"}>{finding.message}</p>)}
          <Differences all={differences} onPick={onPick} />
          <SourceWords evidence={proposal.evidence} document={proposal.definition} onPick={onPick} />
          <details className="fold-plain"><summary>{d.source}</summary><TextDiff before={old.trim() ? old : ""} after={proposed} /></details>
          <div className="dialog-foot def-accept"><Button onClick={() => onProposal(null)}>{d.dropIt}</Button><Button look="primary" onClick={() => onAccept(proposed)}>{d.takeIt}</Button></div>
        </section>
      )}
    </div>
  );
}
