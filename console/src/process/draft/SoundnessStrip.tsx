/** Whether every run of the draft can end: the verdict, what was looked at, and what is doubtful with its mending. */
import { Check, CircleHelp, CircleX, Play, ShieldCheck, Square, TriangleAlert, X } from "lucide-react";
import { useState, type ReactNode } from "react";
import type { Finding, Inspected } from "../../api/types";
import { Ago, Badge, Button } from "../../components";
import { useDraftWords } from "./speech";
import { openTodos, type Draft, type Todo } from "./types";

interface Props {
  draft: Draft;
  /** What the server says of one of its definitions; null while it is not there. */
  inspected: Inspected | null;
  playing: boolean;
  onPlay: (playing: boolean) => void;
  onTodo: (todo: Todo) => void;
  onElement: (id: string) => void;
}

const CHECKS = ["ends", "clean", "alive"] as const;
/** So many are shown at first. */
const FEW = 2;
/** Which check fails, by why a net is not sound. */
const FAILS: Record<string, (typeof CHECKS)[number]> = { deadlock: "ends", livelock: "ends", "improper end": "clean", unbounded: "clean", "dead nodes": "alive" };

export function SoundnessStrip({ draft, inspected, playing, onPlay, onTodo, onElement }: Props): ReactNode {
  const { f, d } = useDraftWords();
  const { soundness } = draft;
  const mended = soundness.status === "sound" && soundness.with_proposals && openTodos(draft).some(({ kind }) => kind === "soundness");
  const verdict = soundness.status === "sound" ? "sound" : soundness.status === "unsound" ? "unsound" : "unknown";
  const failing = new Set(inspected?.soundness.flatMap((level) => FAILS[level.why] ?? []));
  const example = inspected?.soundness.some((level) => level.steps.length > 0) ?? false;
  const [all, setAll] = useState(false);
  const warnings = [...soundness.findings, ...draft.findings].filter(({ severity }) => severity !== "info");
  const mend = (finding: Finding): Todo | undefined => openTodos(draft).find((todo) => todo.element !== "" && todo.element === finding.node);
  return (
    <section className="draft-sound" aria-label={d.soundness}>
      <div className="draft-sound-line">
        <h2>{d.soundness}</h2>
        <Badge tone={verdict === "sound" ? "done" : verdict === "unsound" ? "failed" : "idle"} icon={verdict === "sound" ? ShieldCheck : verdict === "unsound" ? CircleX : CircleHelp}>{mended ? d.mended : d.verdict[verdict]}</Badge>
        <span className="dim grow">{verdict === "unknown" ? d.notYet : d.states(f.number(soundness.states), soundness.with_proposals)}</span>
        <span className="dim small"><Ago time={draft.updated_at} /></span>
        {example && <Button icon={playing ? Square : Play} onClick={() => onPlay(!playing)}>{playing ? d.stopPlaying : d.playTokens}</Button>}
      </div>
      <div className="draft-sound-line">
        {verdict !== "unknown" && <ul className="draft-checks">{CHECKS.map((check) => { const bad = verdict === "unsound" && failing.has(check); return <li key={check} className={bad ? "ink-failed" : ""}>{bad ? <X size={15} aria-hidden /> : <Check size={15} aria-hidden className="ink-done" />}{bad ? d.checksBad[check] : d.checks[check]}</li>; })}</ul>}
        {warnings.length > 0 && (
          <ul className="draft-warnings">
            {warnings.slice(0, all ? undefined : FEW).map((finding, i) => {
              const todo = mend(finding);
              return <li key={i}><TriangleAlert size={15} aria-hidden /><span>{finding.message}</span>{todo ? <button type="button" className="linklike" onClick={() => onTodo(todo)}>{d.fixIt}</button> : finding.node && <button type="button" className="linklike" onClick={() => onElement(finding.node as string)}>{d.seeOnDrawing}</button>}</li>;
            })}
            {warnings.length > FEW && !all && <li><button type="button" className="linklike" onClick={() => setAll(true)}>{d.moreWarnings(warnings.length - FEW)}</button></li>}
          </ul>
        )}
      </div>
    </section>
  );
}
