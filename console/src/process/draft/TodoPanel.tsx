/** The to-dos beside the drawing: how far it is, the open ones as cards, the finished ones with their answers. */
import { ChevronDown, CircleCheck, Lock, LockOpen, RotateCcw, UsersRound } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";
import { Button } from "../../components";
import { Rich } from "../../words/rich";
import { person } from "../../words/why";
import type { DrawingFile } from "./drawingFile";
import { answerText, nameOf, titleOf } from "./sentences";
import { useDraftWords } from "./speech";
import { Say, TodoCard, type Way } from "./TodoCard";
import { hasProposal, isUnsound, mayRelease, missingTodos, openTodos, type Todo } from "./types";
import type { DraftWork } from "./work";

interface Props {
  work: DraftWork;
  file: DrawingFile;
  selected: Todo | null;
  way: Way;
  may: boolean;
  onWay: (way: Way) => void;
  onSelect: (todo: Todo | null) => void;
  onDone: (todo: Todo) => void;
}

export function TodoPanel({ work, file, selected, way, may, onWay, onSelect, onDone }: Props): ReactNode {
  const { d } = useDraftWords();
  const { draft } = work;
  const open = openTodos(draft);
  const done = draft.todos.filter(({ state }) => state === "done");
  const blocking = missingTodos(draft).length;
  return (
    <>
      <header className="todos-head">
        <h2>{d.panel} <b>{done.length} / {draft.todos.length}</b> <span className="dim">{d.panelDone}</span></h2>
        <span className="dim">{d.panelLeft(open.length, open.filter(hasProposal).length)}</span>
        <div className="todos-bar" role="img" aria-label={d.progress(done.length, draft.todos.length)}>{draft.todos.map((todo) => <i key={todo.key} className={todo.state === "done" ? "tone-done" : "tone-held"} />)}</div>
      </header>
      {work.conflict && <ConflictNotice work={work} file={file} />}
      <div className="todos-scroll" tabIndex={-1}>
        {open.length > 0 ? <ol className="todos">{open.map((todo) => <TodoCard key={todo.key} work={work} todo={todo} file={file} selected={selected?.key === todo.key} way={selected?.key === todo.key ? way : null} may={may} onWay={onWay} onSelect={() => onSelect(todo)} onDone={() => onDone(todo)} />)}</ol>
          : <p className="todos-none"><CircleCheck size={18} aria-hidden />{draft.todos.length ? d.allDone : d.noTodos}</p>}
        {done.length > 0 && <DoneTodos work={work} file={file} todos={done} selected={selected} may={may} onSelect={onSelect} />}
      </div>
      <p className="todos-foot">{!may ? <><Lock size={15} aria-hidden /><span>{d.needs("definition.write")}</span></> : blocking > 0 ? <><Lock size={15} aria-hidden /><span><Rich text={d.locked(blocking, draft.version)} /></span></> : mayRelease(draft) ? <><LockOpen size={15} aria-hidden /><span><Rich text={isUnsound(draft) ? d.unlockedUnsound : d.unlocked(draft.version)} /></span></> : <><Lock size={15} aria-hidden /><span>{d.lockedCheck}</span></>}</p>
    </>
  );
}

function DoneTodos({ work, file, todos, selected, may, onSelect }: { work: DraftWork; file: DrawingFile; todos: Todo[]; selected: Todo | null; may: boolean; onSelect: (todo: Todo) => void }): ReactNode {
  const { t, f, d } = useDraftWords();
  const [shown, setShown] = useState(true);
  useEffect(() => { if (selected?.state === "done") { setShown(true); document.getElementById(`todo-${selected.no}`)?.scrollIntoView({ block: "nearest" }); } }, [selected]);
  const taken = todos.filter(({ by_proposal }) => by_proposal).length;
  return (
    <section className="todos-done" aria-label={d.doneTitle(todos.length)}>
      <button type="button" className="todos-fold" aria-expanded={shown} onClick={() => setShown(!shown)}><ChevronDown size={15} aria-hidden /><b className="grow">{d.doneTitle(todos.length)}</b><span className="dim">{d.doneBy(taken, todos.length - taken)}</span></button>
      {shown && (
        <ul>
          {todos.map((todo) => {
            const on = selected?.key === todo.key;
            return (
              <li key={todo.key} id={`todo-${todo.no}`} className={on ? "done-on" : ""} data-todo={todo.no}>
                <button type="button" className="done-row" aria-expanded={on} onClick={() => onSelect(todo)}><CircleCheck size={16} aria-hidden /><span className="done-no">{todo.no}</span><span className="cut grow">{nameOf(todo)}</span><span className="dim cut">{answerLine(todo, answerText(todo, file, t, f), d.shorts[todo.kind])}</span></button>
                {on && (
                  <div className="done-more">
                    <p><Say sentence={titleOf(todo, t)} /></p>
                    <p className="dim small">{todo.by_proposal ? d.byProposal : d.byHand}{todo.answered_by && ` · ${person(todo.answered_by, t)}`}{todo.answered_at && ` · ${f.when(todo.answered_at, Date.now())}`}</p>
                    {answerText(todo, file, t, f) && <p>{answerText(todo, file, t, f)}</p>}
                    {may && todo.answered_at && <Button icon={RotateCcw} disabled={work.busy} onClick={() => void work.undo(todo)}>{d.reopen}</Button>}
                  </div>
                )}
              </li>
            );
          })}
        </ul>
      )}
    </section>
  );
}

const answerLine = (todo: Todo, text: string, short: string | undefined): string => [short ?? todo.element_type, text].filter(Boolean).join(": ");

/** What somebody else did meanwhile; what I wrote is still there and can be sent. */
function ConflictNotice({ work, file }: { work: DraftWork; file: DrawingFile }): ReactNode {
  const { t, f, d } = useDraftWords();
  const conflict = work.conflict;
  if (!conflict) return null;
  const mine = work.draft.todos.find(({ key }) => key === conflict.mine?.key);
  return (
    <div className="todos-conflict tone-held" role="alert">
      <UsersRound size={16} aria-hidden />
      <div className="grow">
        <b>{d.conflict}</b>
        {conflict.changed.length === 0 ? <p>{d.conflictOther}</p> : <ul>{conflict.changed.slice(0, 5).map(({ todo, undone }) => <li key={todo.key}><Rich text={undone ? d.conflictUndone(nameOf(todo)) : d.conflictDid(todo.answered_by ? person(todo.answered_by, t) : d.someone, todo.answered_at ? f.clock(todo.answered_at) : "", d.conflictAnswered(nameOf(todo), answerText(todo, file, t, f)))} /></li>)}</ul>}
        {conflict.mine && <p className="dim">{d.conflictKept}</p>}
        <div className="todo-acts">{mine && <Button disabled={work.busy} onClick={work.resend}>{d.conflictSend}</Button>}<Button look="quiet" onClick={work.settle}>{d.conflictTheirs}</Button></div>
      </div>
    </div>
  );
}
