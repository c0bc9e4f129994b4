/** Asks before an execution is cancelled, resumed or run anew: what happens, and what stays. */
import { useRef, useState, type ReactNode } from "react";
import { newKey } from "../api/client";
import { Button } from "../components";
import { Dialog, type Anchor } from "../components/Dialog";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import type { Format } from "../words/format";
import type { Dictionary } from "../words/ko";
import { nameOf } from "./files";
import { lastTime } from "./lastTime";
import { cancel, retry } from "./requests";
import type { Execution } from "../api/types";

export type ExecutionMove = "cancel" | "resume" | "rerun";

interface Props {
  move: ExecutionMove;
  anchor: Anchor | null;
  execution: Execution;
  onClose: () => void;
  /** With the id of the new execution, where there is one. */
  onDone: (made: string | null) => void;
}

export function ConfirmMove({ move, anchor, execution, onClose, onDone }: Props): ReactNode {
  const { t, f } = useWords();
  const p = t.pipeline;
  const key = useRef(newKey()); // asked again after a lost answer, it still counts once
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const send = async () => {
    setSending(true);
    setProblem(null);
    try {
      if (move === "cancel") await cancel(execution.executionId, key.current);
      onDone(move === "cancel" ? null : await retry(execution.executionId, move, key.current));
    } catch (error) {
      setProblem(error);
      setSending(false);
    }
  };
  const name = execution.file ? nameOf(execution.file.key) : execution.pipelineName;
  return (
    <Dialog label={p.ask[move](name)} anchor={anchor} look="popover" onClose={onClose}>
      <h2>{p.ask[move](name)}</h2>
      <ul className="effects">{effects(execution, move, t, f).map((text) => <li key={text}>{text}</li>)}</ul>
      {problem !== null && <p className="bad" role="alert">{errorText(problem, t)}</p>}
      <div className="dialog-foot">
        <Button data-first onClick={onClose}>{t.run.keep}</Button>
        <Button look={move === "cancel" ? "danger" : "primary"} disabled={sending} onClick={() => void send()}>{p.doIt[move]}</Button>
      </div>
    </Dialog>
  );
}

function effects({ stages, errorStage }: Execution, move: ExecutionMove, t: Dictionary, f: Format): string[] {
  const p = t.pipeline;
  const done = stages.filter((stage) => stage.status === "COMPLETED").length;
  if (move === "cancel") {
    const working = stages.filter((stage) => stage.status === "RUNNING" || stage.status === "STARTED").map((stage) => stage.stageName);
    return [working.length ? p.effectBoundary(working.join(", ")) : p.effectNow, p.effectKept(done), p.effectFinal];
  }
  if (move === "rerun") return [p.effectAnew(stages.length), ...lastTime(stages, t, f), p.effectLinked, p.effectOldStays];
  const from = stages.find((stage) => stage.stageCode === errorStage) ?? stages.find((stage) => stage.status !== "COMPLETED");
  return [p.effectResume(from?.stageName ?? ""), p.effectKept(done), p.effectSameKey];
}
