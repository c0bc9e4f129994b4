/** Shows what taking all proposals does, before they are taken. */
import { CheckCheck, Lightbulb } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";
import { Button, Skeleton } from "../../components";
import { Dialog } from "../../components/Dialog";
import { errorText } from "../../words/errorText";
import type { DrawingFile } from "./drawingFile";
import { accept } from "./requests";
import { proposalText, titleOf } from "./sentences";
import { useDraftWords } from "./speech";
import { Say } from "./TodoCard";
import { hasProposal, openTodos, type Draft } from "./types";
import type { DraftWork } from "./work";

export function AcceptAll({ work, file, onClose }: { work: DraftWork; file: DrawingFile; onClose: () => void }): ReactNode {
  const { t, f, d } = useDraftWords();
  const { draft } = work;
  const todos = draft.todos.filter(hasProposal);
  const [after, setAfter] = useState<Draft | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let gone = false;
    accept(draft, true).then((result) => !gone && setAfter(result), (error: unknown) => !gone && setProblem(errorText(error, t)));
    return () => { gone = true; };
  }, [draft.id, draft.number]);
  const rest = after ? openTodos(after).filter(({ required }) => required) : [];
  return (
    <Dialog label={d.acceptTitle(todos.length)} onClose={onClose}>
      <h2>{d.acceptTitle(todos.length)}</h2>
      <ul className="accept-list" tabIndex={0}>{todos.map((todo) => { const proposal = todo.proposals[0]; return proposal && <li key={todo.key}><span className="draft-no tone-held">{todo.no}</span><span><b><Say sentence={titleOf(todo, t)} /></b><span className="todo-line"><Lightbulb size={14} aria-hidden /><Say sentence={proposalText(proposal, file, t, f)} /></span></span></li>; })}</ul>
      {after ? <div className="accept-rest"><p>{d.acceptRest(rest.length)}</p>{rest.length > 0 && <ul>{rest.map((todo) => <li key={todo.key}><span className="draft-no tone-held">{todo.no}</span> <Say sentence={titleOf(todo, t)} /></li>)}</ul>}</div> : !problem && <Skeleton h={22} />}
      <p className="dim small">{d.acceptUndo}</p>
      {problem && <p className="bad" role="alert">{problem}</p>}
      <div className="dialog-foot"><Button onClick={onClose}>{t.inbox.notNow}</Button><Button look="primary" icon={CheckCheck} data-first disabled={!after || work.busy} onClick={() => void work.takeAll().then(onClose)}>{d.acceptDo}</Button></div>
    </Dialog>
  );
}
