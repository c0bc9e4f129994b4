/** Asks before a task is moved: what happens, and the words that go with it. */
import { useEffect, useRef, useState, type FormEvent, type ReactNode } from "react";
import { ApiError, newKey } from "../api/client";
import { Button } from "../components";
import { Dialog, type Anchor } from "../components/Dialog";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import { moveTask, type Given } from "./requests";
import type { Task, TaskVerb } from "./types";

interface Props {
  project: string;
  task: Task;
  verb: TaskVerb;
  anchor: Anchor | null;
  onClose: () => void;
  onDone: () => void;
}

/** What is typed with a move, and whether it must be. */
const TYPED: Partial<Record<TaskVerb, { field: keyof Given; needed: boolean }>> = {
  "review-approve": { field: "comment", needed: false }, "review-reject": { field: "comment", needed: true }, "force-complete": { field: "reason", needed: true }, complete: { field: "notes", needed: false },
};
const DANGER = new Set<TaskVerb>(["cancel", "force-complete"]);
const BUSY = "AGENT-409-BUSY";
/** Words that were typed and not sent: closing the question loses nothing. */
const typedBefore = new Map<string, string>();

export function AskTask({ project, task, verb, anchor, onClose, onDone }: Props): ReactNode {
  const { t } = useWords();
  const p = t.plan;
  const name = `${project} ${task.id} ${verb}`;
  const key = useRef(newKey()); // asked again after a lost answer, it still counts once
  const [text, setText] = useState(() => typedBefore.get(name) ?? "");
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const typed = TYPED[verb];
  useEffect(() => void typedBefore.set(name, text), [name, text]);
  const send = async (queue: boolean) => {
    setSending(true);
    setProblem(null);
    try {
      if (queue) key.current = newKey();
      await moveTask(project, task.id, verb, { ...(typed && text.trim() ? { [typed.field]: text.trim() } : {}), ...(queue ? { queue } : {}) }, key.current);
      typedBefore.delete(name);
      onDone();
    } catch (error) {
      if (error instanceof ApiError) key.current = newKey(); // it was refused: the next try is another request
      setProblem(error);
      setSending(false);
    }
  };
  const busy = problem instanceof ApiError && problem.problem.code === BUSY;
  const submit = (event: FormEvent) => { event.preventDefault(); void send(false); };
  const label = p.ask[verb](task.id);
  const fieldName = verb === "review-reject" ? p.commentNext : verb === "force-complete" ? p.reasonField : verb === "complete" ? p.notes : p.comment;
  return (
    <Dialog label={label} anchor={anchor} look="popover" onClose={onClose}>
      <form className="move-form" onSubmit={submit} noValidate>
        <h2>{label}</h2>
        <p className="dim"><b>{task.title}</b></p>
        <ul className="plan-effects">{p.effect[verb].map((each) => <li key={each}>{each}</li>)}</ul>
        {typed && <label className="field"><span className="label">{fieldName}{!typed.needed && <span className="dim">{t.common.optional}</span>}</span><textarea data-first={typed.needed || undefined} className="input" rows={3} maxLength={4000} value={text} onChange={(event) => setText(event.target.value)} /></label>}
        {problem !== null && <p className="bad" role="alert">{busy ? p.busyNow : errorText(problem, t)}</p>}
        <div className="dialog-foot">
          <Button data-first={!typed?.needed || undefined} onClick={onClose}>{p.keep}</Button>
          {busy && <Button look="primary" disabled={sending} onClick={() => void send(true)}>{p.whenFree}</Button>}
          {!busy && <Button type="submit" look={DANGER.has(verb) ? "danger" : "primary"} disabled={sending || (!!typed?.needed && !text.trim())}>{p.move[verb]}</Button>}
        </div>
      </form>
    </Dialog>
  );
}
